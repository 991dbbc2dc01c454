#!/bin/sh
# The program from outside: bad input gives one line on stderr and the documented status, good input the right output.
# usage: cli_test.sh PATH_OF_INGLE [PATH_OF_A_MODEL]
# The model needs a tokenizer; without one, the checks that need a model are left out.
set -u
ingle=$1
model=${2:-${XDG_CACHE_HOME:-$HOME/.cache}/ingle/models/smollm2-135m-instruct.gguf}
unset INGLE_MODEL INGLE_THREADS INGLE_ISA
work=$(mktemp -d "${TMPDIR:-/tmp}/ingle_cli_XXXXXX")
trap 'rm -rf "$work"' EXIT
passed=0
failed=0
skipped=0

report() {  # report TEXT: a check that failed
  failed=$((failed + 1))
  echo "FAILED: $1"
  sed 's/^/    stderr: /' "$work/err"
}

# What the library warns of in a good model, and that a slow machine took its time, is no part of what is checked here.
without_warnings() {
  grep -v -e '^ingle: warning: ' -e '^loaded .* in ' -e '^wrote .* in ' -e '^measured ' "$work/err" > "$work/err2"
  mv "$work/err2" "$work/err"
}

# refuses STATUS PATTERN ARGUMENTS...: fails with that status and one line that begins with "ingle: " and has the pattern.
refuses() {
  status=$1
  pattern=$2
  shift 2
  "$ingle" "$@" > "$work/out" 2> "$work/err"
  got=$?
  judge "$status" "$pattern" "$got" "ingle $*"
}

judge() {  # judge STATUS PATTERN GOT NAME
  without_warnings
  if [ "$3" -ne "$1" ]; then
    report "$4: status $3, not $1"
  elif [ "$(wc -l < "$work/err")" -ne 1 ]; then
    report "$4: $(wc -l < "$work/err") lines on stderr, not 1"
  elif ! grep -q '^ingle: ' "$work/err"; then
    report "$4: the line does not begin with 'ingle: '"
  elif ! grep -q -e "$2" "$work/err"; then
    report "$4: no '$2' in the line"
  else
    passed=$((passed + 1))
  fi
}

# gives PATTERN ARGUMENTS...: succeeds, with the pattern on stdout and nothing on stderr.
gives() {
  pattern=$1
  shift
  "$ingle" "$@" > "$work/out" 2> "$work/err" < /dev/null
  got=$?
  without_warnings
  if [ "$got" -ne 0 ]; then
    report "ingle $*: status $got"
  elif [ -s "$work/err" ]; then
    report "ingle $*: something on stderr"
  elif ! grep -q -e "$pattern" "$work/out"; then
    report "ingle $*: no '$pattern' on stdout"
  else
    passed=$((passed + 1))
  fi
}

skip() {
  skipped=$((skipped + 1))
  echo "skipped: $1"
}

# Options and commands
gives 'Usage:' --help
gives 'Usage:' run --help
gives 'Usage:' help bench
gives '^ingle [0-9]' --version
gives 'isas:' version -v
gives '^kernels ' doctor
gives '^ceilings .* thread.*f32 [0-9.]* GMAC/s$' doctor -t 1
gives '"advice":\[' doctor --json --no-ceilings
refuses 2 'no-such-isa' doctor --isa no-such-isa
gives 'complete -o filenames' completion bash
refuses 2 "did you mean 'run'" rnu
refuses 2 'did you mean --ctx-size' run x.gguf --ctxsize 5
refuses 2 "'abc' is not an integer; it takes an integer from" run x.gguf -c abc
refuses 2 "'1.5' is out of range; it takes a number from 0 to 1" run x.gguf --top-p 1.5
refuses 2 'needs a value' run x.gguf -c
refuses 2 'one argument too many' run x.gguf y.gguf
refuses 2 'no model' run -p hi
refuses 2 'SHELL is missing' completion

# Random weights
refuses 2 "no shape 'nope'; known are smollm2-135m, " synth nope "$work/synth.gguf"
refuses 2 "'q9' cannot be made; known are f32, " synth smollm2-135m "$work/synth.gguf" --type q9
refuses 2 'the file to write' synth smollm2-135m
refuses 7 'no-such-directory' synth smollm2-135m "$work/no-such-directory/x.gguf"
refuses 2 'give one' bench "$work/x.gguf" --shape smollm2-135m
refuses 2 'goes with --shape' inspect "$work/x.gguf" --type q8_0
refuses 2 'contradict' bench --shape smollm2-135m --all-rows --rows both
refuses 2 'have no place' bench --shape smollm2-135m --mixed -n 4
gives 'gemma4-26b-slice' synth --list
gives 'Q8_0 ' inspect --shape gemma4-e2b
"$ingle" synth smollm2-135m "$work/synth.gguf" > "$work/out" 2> "$work/err" || report 'synth'
gives '^1 367 655$' tokenize "$work/synth.gguf" -p 'w12 w300' --ids
"$ingle" bench --shape smollm2-135m --type q8_0 -p 8 -n 2 -r 1 --rows both -o jsonl > "$work/out" 2> "$work/err"
if [ "$(grep -c '"rows_computed":' "$work/out")" -eq 4 ] && [ "$(grep -c '"speedup_over_all_rows":' "$work/out")" -eq 2 ]; then
  passed=$((passed + 1))
else
  report 'bench --shape --rows both: not four lines, two of them with a ratio'
fi
"$ingle" bench --shape smollm2-135m -p 8 -r 1 --sequences 1,2 --ragged --mixed -o jsonl > "$work/out" 2> "$work/err"
if [ "$(grep -c '"mixed":true' "$work/out")" -eq 4 ]; then passed=$((passed + 1)); else report 'bench --mixed: not four lines'; fi
gives '^2  *655  *normal  *3  *8  *. w300.' tokenize "$work/synth.gguf" -p 'w12 w300'
gives '^3$' tokenize "$work/synth.gguf" -p 'w12 w300' --count
refuses 2 'only "gpt2" has one to choose' tokenize "$work/synth.gguf" -p 'w12 w300' --pre-tokenizer qwen2
gives '^blk.0.attn_q.weight  *.576, 576.  *Q4_0  *Q8_0 ' quantize "$work/synth.gguf" "$work/q8.gguf" --type q8_0
refuses 2 "is not PATTERN=TYPE" quantize "$work/synth.gguf" "$work/x.gguf" --tensor-type q8_0
refuses 2 'cannot be the one to write' quantize "$work/synth.gguf" "$work/synth.gguf"
rm -f "$work/q8.gguf"
gives '"begin":3,"end":8}' tokenize "$work/synth.gguf" -p 'w12 w300' --json
rm -f "$work/synth.gguf"

# Templates
printf '%s\n' '{% for m in messages %}' '[{{ m.role }}] {{ m.content }}' '{% endfor %}' '{{ messages[0].absent.name }}' > "$work/t.jinja"
printf '%s' '{% for m in messages %}{{ m.content }}{% endfor %}{% if add_generation_prompt %}>{% endif %}{{ mood }}' > "$work/u.jinja"
printf '{"messages": [{"role": "user", "content": "a"}], "mood": "!", "add_generation_prompt": false}' > "$work/c.json"
"$ingle" template "$work/t.jinja" -p hi > "$work/out" 2> "$work/err"
got=$?
if grep -q '^>     4 | {{ messages' "$work/err"; then passed=$((passed + 1)); else report 'template: the line that fails is not shown'; fi
sed -i '/^[> ] *[0-9]* | /d' "$work/err"
judge 2 "line 4: 'dict object' has no attribute 'absent'" "$got" 'a template that fails'
gives '^system message  *yes' template "$work/u.jinja"
gives '"generation_prompt":{"begin":2,"text":">"}' template "$work/u.jinja" -p hi --json
gives '^{"text":"a!",' template "$work/u.jinja" -f "$work/c.json" --json
gives '"text":"a>7"' template "$work/u.jinja" -p a --arg mood=7 --json
gives 'endfor' template "$work/u.jinja" --source
refuses 4 'no JSON array of tools' template "$work/u.jinja" -p a --tools "$work/c.json"
refuses 2 'is not NAME=VALUE' template "$work/u.jinja" -p a --arg mood
refuses 3 'no chat template named' template "$work/u.jinja" -p a --variant rag
: > "$work/empty.jinja"
refuses 4 'empty.jinja: is empty' template "$work/empty.jinja" -p hi
printf '{%% if %%}' > "$work/t.jinja"
"$ingle" template "$work/t.jinja" -p hi > "$work/out" 2> "$work/err"
got=$?
sed -i '/^[> ] *[0-9]* | /d' "$work/err"
judge 4 'line 1: expected an expression' "$got" 'a template that cannot be read'

# A published folder (where the tree is at hand)
folder=$(dirname "$0")/../convert/data/qwen3_tiny
if [ -d "$folder" ]; then
  gives '^qwen3: 25 tensors, ' convert "$folder" "$work/converted.gguf" --type q8_0
  gives '^[0-9 ]*$' tokenize "$folder" -p 'the' --ids
  refuses 2 "weights of type 'q9' cannot be written; known are f32, " convert "$folder" "$work/x.gguf" --type q9
  adapter=$(dirname "$0")/../convert/peft/llama_wide
  base=$(dirname "$0")/../models/golden/llama_wide.gguf
  gives '^llama: [0-9]* tensors, ' convert "$adapter" "$work/adapter.gguf" --base "$base"
  gives '"blk.0.attn_q.weight.lora_b"' convert "$adapter" --base "$base" --dry-run --json
  refuses 2 'an adapter is written as one file' convert "$adapter" "$work/x.gguf" --base "$base" --split 5
  refuses 3 'adapter_config.json' convert "$folder" "$work/x.gguf" --base "$base"
else
  skip 'convert: no folder'
fi
gives '^Qwen3ForCausalLM$' convert --list
refuses 3 'no such folder' convert "$work/absent" "$work/x.gguf"
refuses 2 'the file to write' convert "$work"

# Files that are no models
printf '' > "$work/empty.gguf"
printf 'This is a text, not a model.\nIt has two lines.\n' > "$work/text.gguf"
printf 'GGUF' > "$work/magic.gguf"
refuses 3 "$work/absent.gguf" run "$work/absent.gguf" -p hi
refuses 3 'one of: smollm2' inspect no-such-model
for command in run inspect; do
  for file in "$work" "$work/empty.gguf" "$work/text.gguf" "$work/magic.gguf"; do
    if [ "$command" = run ]; then set -- -p hi; else set --; fi
    "$ingle" "$command" "$file" "$@" > "$work/out" 2> "$work/err"
    got=$?
    judge 4 "$(basename "$file")" $got "ingle $command $(basename "$file")"
  done
done
XDG_CACHE_HOME=$work "$ingle" run smollm2 -p hi > "$work/out" 2> "$work/err"
judge 3 'quickstart' $? 'a catalogue model that is not here'

# Output that cannot be written
"$ingle" --help >&- 2> "$work/err"
judge 7 'closed' $? 'closed stdout'
if [ -e /dev/full ]; then
  "$ingle" --help > /dev/full 2> "$work/err"
  judge 7 'No space left' $? 'full disk'
fi
# The reader is gone before anything is written, since it closes its end before the program starts.
{ sleep 0.3; "$ingle" --help 2> "$work/err"; echo $? > "$work/status"; } | true
judge 7 'closed the pipe' "$(cat "$work/status")" 'broken pipe'
# A limit on a file's size, and signals in the middle of writing one: nothing is left.
mkdir "$work/written"
(ulimit -f 100; "$ingle" synth smollm2-135m "$work/written/x.gguf" 2> "$work/err")
judge 7 'File too large' $? 'a file beyond the limit on sizes'
for signal in TERM HUP; do
  "$ingle" synth smollm2-135m "$work/written/x.gguf" --type f32 > "$work/out" 2> "$work/err" &
  writer=$!
  while kill -0 $writer && [ -z "$(ls "$work/written")" ]; do sleep 0.02; done
  kill -s $signal $writer
  wait $writer
  got=$?
  if [ $signal = TERM ]; then expected=143; else expected=129; fi
  judge $expected 'cancelled' $got "SIG$signal while a file is written"
done
if [ -z "$(ls "$work/written")" ]; then passed=$((passed + 1)); else report "left behind: $(ls "$work/written")"; fi
refuses 7 'no-such-directory' generate commands-page "$work/no-such-directory/page.md"
touch "$work/folder"
refuses 7 'folder' generate man "$work/folder/man"

# Directories in the place of files
tiny=$(dirname "$0")/../models/golden/llama_tied.gguf
for command in score tokenize perplexity imatrix; do refuses 4 'is a directory' "$command" "$tiny" -f "$work"; done
refuses 4 'is a directory' run "$tiny" -p hi --load-state "$work"
refuses 4 'not a regular file' perplexity "$tiny" --kl "$work"
refuses 4 'not a regular file' perplexity "$tiny" --kl /dev/zero
refuses 2 'is a directory' generate commands-page "$work"
refuses 2 'not a regular file' imatrix "$tiny" -f "$work/text.gguf" -o "$work"
refuses 2 'not a regular file' quantize "$tiny" "$work" --type q8_0
refuses 2 'not a regular file' synth smollm2-135m "$work"

# Input without end, and what memory does not hold
refuses 2 '/dev/zero: more than 268435456 bytes' template "$work/u.jinja" -f /dev/zero
if (ulimit -v 300000; "$ingle" --version) > "$work/out" 2> "$work/err"; then
  (ulimit -v 300000; "$ingle" template "$work/u.jinja" -f /dev/zero) > "$work/out" 2> "$work/err"
  judge 6 'out of memory; a shorter text' $? 'a limit on memory'
else
  skip 'a limit on memory: ingle does not start under it'
fi

# Embeddings and scores, with a tiny model of random weights
refuses 2 'no model' embed -p hi
refuses 2 'no model' score -p hi
refuses 3 'absent.gguf' embed "$work/absent.gguf" -p hi
refuses 2 "'max' is not known; it takes one of last, mean, cls" embed "$tiny" -p hi --pooling max
refuses 2 'normalize and --no-normalize' embed "$tiny" -p hi --normalize --no-normalize
refuses 2 'give one of them' embed "$tiny" -p hi -f "$work/text.gguf"
refuses 2 '-p 2: the text is empty' embed "$tiny" -p hi -p ''
printf 'one\n\nthree\n' > "$work/lines"
refuses 2 'lines: line 2: the text is empty' embed "$tiny" -f "$work/lines"
printf 'one\nand a longer line than that\n' > "$work/lines"
refuses 2 'lines: line 2: the text has [0-9]* tokens, the context holds 8' embed "$tiny" -c 8 -f "$work/lines"
refuses 2 'standard input: no text in it' embed "$tiny" < /dev/null
refuses 2 'the text is empty' score "$tiny" -p ''
refuses 2 'at least 2 are needed' score "$tiny" -p h
refuses 2 'the text has 16 tokens, the context holds 8; --ctx-size 16 ' score "$tiny" -c 8 -p 'aaaaaaaaaaaaaaaa'
printf 'abc\377def' > "$work/latin"
refuses 2 'not UTF-8: byte 0xff at offset 3' score "$tiny" -f "$work/latin"
refuses 2 '-p: not UTF-8: byte 0xff at offset 3' embed "$tiny" -p "$(cat "$work/latin")" -p x
gives '^2  *a bee  *[-0-9.]*  1.0000  1.0000$' embed "$tiny" -p 'a cat' -p 'a bee' -p 'a bee' --similarity
gives '"pooling":"last","normalized":true' embed "$tiny" -p 'a cat' --json
gives '"rows":{"computed":[0-9]*,"skipped":[1-9]' embed "$tiny" -p 'a cat' --json
gives '"skipped":0}' embed "$tiny" -p 'a cat' --json --all-rows
gives '"skipped":0}' embed "$tiny" -p 'a cat' --json --pooling mean
gives '"tokens":8,' embed "$tiny" -c 8 -p 'a text of more than eight tokens' --truncate --json
encoder=$(dirname "$0")/../models/golden/bert_tiny.gguf
gives '"pooling":"mean","normalized":true' embed "$encoder" -p 'the cat' --json
gives '"pooling":"cls"' embed "$encoder" -p 'the cat' --json --pooling cls
gives '"tokens":4,' embed "$encoder" -p 'the cat' --json
reranker=$(dirname "$0")/../models/golden/bert_rerank.gguf
gives '^the dog  *0[.][0-9]*  *[12]$' rerank "$reranker" -q 'the cat' -p 'sat on the mat' -p 'the dog'
gives '"texts":2,' rerank "$reranker" -q 'the cat' -p 'sat on the mat' -p 'the dog' --json --top 1
refuses 2 'no question; give -q TEXT' rerank "$reranker" -p 'the dog'
refuses 2 '-p: question and text have [0-9]* tokens, the context holds 6' rerank "$reranker" -q 'the cat' -p 'sat on the mat' -c 6
gives '"tokens":6,"text"' rerank "$reranker" -q 'the cat' -p 'sat on the mat' -c 6 --truncate --json
decoder=$(dirname "$0")/../convert/encoders/qwen3_rerank
gives '^note: a Qwen3-Reranker' convert "$decoder" "$work/decoder.gguf"
gives '"score":0\.086' rerank "$work/decoder.gguf" -q 'what is a bird' -p 'a bird is an animal.' --exact --json
refuses 5 'has no classifier' rerank "$encoder" -q a -p b
refuses 2 'is a reranker: ingle rerank takes it' embed "$reranker" -p hi
refuses 5 'turns texts into vectors; it writes none' run "$encoder" -p hi
gives . embed "$tiny" -p 'a cat' -p 'a much longer text about cats'
cp "$work/out" "$work/first"
gives . embed "$tiny" -p 'a cat' -p 'a much longer text about cats' --all-rows
if cmp -s "$work/out" "$work/first"; then passed=$((passed + 1)); else report 'embed --all-rows gives other numbers'; fi
printf 'a cat\r\na much longer text about cats' | "$ingle" embed "$tiny" > "$work/out" 2> "$work/err"
if cmp -s "$work/out" "$work/first"; then passed=$((passed + 1)); else report 'lines of a pipe are embedded otherwise than -p'; fi
gives '^0  *100  .he.  *-  *-  *-$' score "$tiny" -p 'hello' --exact
gives '^perplexity  [0-9.]*$' score "$tiny" -p 'hello'
gives '^rows  *9 layer rows computed, 0 skipped' score "$tiny" -p 'hello'
gives '"position":1,.*"top":\[.*,.*\]}$' score "$tiny" -p 'hello' --json --top 2
gives '"scored":3,' score "$tiny" -p 'hello' --json

# With a model
if [ ! -f "$model" ]; then
  skip "checks with a model: no $model"
else
  head -c 1000000 "$model" > "$work/cut.gguf"
  refuses 4 'cut.gguf' run "$work/cut.gguf" -p hi
  # The same length, so that all offsets stay true: another architecture's name.
  sed 's/general.architecture\(.\{12\}\)llama/general.architecture\1xxxxx/' "$model" > "$work/other.gguf"
  if cmp -s "$model" "$work/other.gguf"; then
    skip 'wrong architecture: the model is no llama'
  else
    refuses 5 'xxxxx' run "$work/other.gguf" -p hi
  fi
  # The header's tensor count, 8 bytes at 8, set to zero: a vocabulary without tensors.
  cp "$model" "$work/other.gguf"
  head -c 8 /dev/zero | dd of="$work/other.gguf" bs=1 seek=8 conv=notrunc 2> "$work/err"
  refuses 5 'no weights' run "$work/other.gguf" -p hi
  gives '^[0-9 ]*$' tokenize "$work/other.gguf" -p 'Hello there' --ids
  rm -f "$work/other.gguf" "$work/cut.gguf"
  refuses 2 'the context holds 16' run "$model" -c 16 -p 'one two three four five six seven eight nine ten eleven twelve thirteen'
  refuses 6 '[0-9]' run "$model" -c 16777216 -p hi
  refuses 2 'the prompt is empty' run "$model" -p ''
  printf 'abc\377def' > "$work/latin"
  "$ingle" run "$model" < "$work/latin" > "$work/out" 2> "$work/err"
  judge 2 'standard input: not UTF-8: byte 0xff at offset 3' $? 'invalid UTF-8 on stdin'
  refuses 2 'not UTF-8: byte 0xff at offset 3' run "$model" -f "$work/latin"
  refuses 3 'no-such-prompt' run "$model" -f "$work/no-such-prompt"
  refuses 2 'there is no token 99999999' run "$model" -p hi --logit-bias 99999999+1
  refuses 2 "'heat' is not known" run "$model" -p hi --samplers 'top_k;heat'
  refuses 2 'no-such-isa' run "$model" -p hi --isa no-such-isa
  "$ingle" run "$model" -p hi -n 8 --temp 0 > /dev/full 2> "$work/err"
  judge 7 'No space left' $? 'an answer to a full disk'
  "$ingle" run "$model" -p hi -n 8 >&- 2> "$work/err"
  judge 7 'closed' $? 'an answer to a closed stdout'

  gives . run "$model" -p 'Say hello.' -n 8 --temp 0
  cp "$work/out" "$work/first"
  gives . run "$model" -p 'Say hello.' -n 8 --temp 0
  if cmp -s "$work/out" "$work/first"; then passed=$((passed + 1)); else report 'the greedy answer is not the same twice'; fi
  printf 'Say hello.\n' | "$ingle" run "$model" -n 8 --temp 0 > "$work/out" 2> "$work/err"
  if cmp -s "$work/out" "$work/first"; then passed=$((passed + 1)); else report 'a prompt from a pipe is answered otherwise'; fi
  gives '"finish":"length"' run "$model" -p hi -n 3 --json --ignore-eos --seed 7
  gives '"seed":7' run "$model" -p hi -n 3 --json --seed 7
  gives '"generated":3' run "$model" -p hi -n 3 --json --ignore-eos --raw
  gives '^[0-9 ]*$' tokenize "$model" -p 'Hello there' --ids
  gives '^[0-9 ]*$' tokenize "$model" -p 'Hello there' --ids --pre-tokenizer gpt-2
  refuses 5 'Known are a.x-4.0, bailingmoe, .*, tekken, ' tokenize "$model" -p hi --pre-tokenizer no-such-name
  gives 'general.architecture' inspect "$model"
  gives '"memory":' inspect "$model" --json
  refuses 2 'a window 512' perplexity "$model" -f "$work/first"
  refuses 4 'not a file of --save-logits' perplexity "$model" --kl "$work/text.gguf"
  "$ingle" bench "$model" -p 8 -n 4 -r 2 -o jsonl > "$work/out" 2> "$work/err"
  if [ "$(grep -c '"tokens_per_second":' "$work/out")" -eq 2 ]; then passed=$((passed + 1)); else report 'bench -o jsonl: not two lines'; fi
  "$ingle" bench "$model" -p 8 -n 0 -r 1 -o csv > "$work/out" 2> "$work/err"
  if [ "$(wc -l < "$work/out")" -eq 2 ]; then passed=$((passed + 1)); else report 'bench -o csv: not two lines'; fi

  # Distributions kept and compared with themselves: no divergence beyond rounding, nothing left of a failed try.
  for i in $(seq 60); do echo "The $i. line of a text that is long enough to be cut into windows of tokens."; done > "$work/long"
  "$ingle" perplexity "$model" -f "$work/long" -c 64 --chunks 2 --save-logits "$work/kept" --json > "$work/out" 2> "$work/err" \
    || report 'perplexity --save-logits'
  "$ingle" perplexity "$model" --kl "$work/kept" --json > "$work/out" 2> "$work/err" || report 'perplexity --kl'
  if grep -q '"same_top_percent":100,' "$work/out"; then passed=$((passed + 1)); else report "a model differs from itself: $(cat "$work/out")"; fi
  refuses 7 'No space left' perplexity "$model" -f "$work/long" -c 64 --chunks 1 --save-logits /dev/full
  mkdir "$work/kept_here"
  refuses 2 'a window 4096' perplexity "$model" -f "$work/long" -c 4096 --save-logits "$work/kept_here/kept"
  if [ -z "$(find "$work/kept_here" -type f)" ]; then passed=$((passed + 1)); else report 'a failed measurement left a file'; fi
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
