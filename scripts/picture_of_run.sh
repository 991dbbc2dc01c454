#!/usr/bin/env bash
# Makes docs/img/run.svg, the picture in the README, anew: a real chat in a real terminal (tmux), captured and drawn.
#   scripts/picture_of_run.sh             needs tmux, the program built by ./quickstart, and the model in the cache
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

command -v tmux >/dev/null || { echo "picture_of_run.sh: tmux is not installed (Debian: apt-get install tmux)" >&2; exit 1; }
history=$(mktemp -d)
name=ingle-picture-$$
trap 'tmux kill-session -t "$name" 2>/dev/null || true; rm -rf "$history"' EXIT

pane() { tmux capture-pane -e -p -t "$name"; }
# Waits until the program asks again: the last line that is not empty is its prompt, with nothing behind it.
wait_for_prompt() {
  for _ in $(seq 600); do
    sleep 0.2
    if pane | sed 's/\x1b\[[0-9;]*m//g' | grep -v '^ *$' | tail -n 1 | grep -qE '^\[[0-9]+/[0-9]+\] > *$'; then return; fi
  done
  echo "picture_of_run.sh: no prompt after two minutes" >&2
  pane >&2
  exit 1
}
ask() {
  tmux send-keys -t "$name" -l "$1"
  tmux send-keys -t "$name" Enter
  sleep 0.5
  wait_for_prompt
}

tmux new-session -d -s "$name" -x 88 -y 26 "env XDG_STATE_HOME='$history' ./quickstart --temp 0"
wait_for_prompt
ask "What is the capital of France? Answer in one word."
ask "Why is the sky blue? One sentence."
ask "How many days are in a week?"
{
  printf '\033[32m$\033[0m ./quickstart --temp 0\n'
  pane | sed '/^\x1b\[1m\[[0-9]*\/[0-9]*\] >\(\x1b\[[0-9;]*m\)* *$/d'
} | scripts/terminal_svg.py --title "ingle run" >docs/img/run.svg
echo "docs/img/run.svg"
