#include "convert/sentencepiece.h"

#include <cmath>

#include "base/error.h"
#include "convert/protobuf.h"

namespace ingle {
namespace {

constexpr size_t kMostPieces = size_t{1} << 24;

SentencePieceModel::Piece read_piece(std::string_view message, const std::string& name) {
  SentencePieceModel::Piece piece;
  ProtoReader reader(message, name);
  while (const auto field = reader.next()) {
    if (field->number == 1) piece.text = reader.bytes(*field);
    if (field->number == 2) piece.score = reader.real(*field);
    if (field->number == 3) piece.kind = reader.integer(*field);
  }
  if (piece.kind < 1 || piece.kind > 6)
    throw_error(ErrorCode::kInvalidFile, "{}: kind {}; there are 1 to 6", name, piece.kind);
  if (!std::isfinite(piece.score)) throw_error(ErrorCode::kInvalidFile, "{}: score {}", name, piece.score);
  return piece;
}

void read_trainer(std::string_view message, const std::string& name, SentencePieceModel& model) {
  ProtoReader reader(message, name);
  while (const auto field = reader.next()) {
    switch (field->number) {
      case 3:
        model.type = static_cast<SentencePieceModel::Type>(reader.integer(*field));
        break;
      case 24:
        model.space_is_suffix = reader.boolean(*field);
        break;
      case 40:
        model.unknown = reader.integer(*field);
        break;
      case 41:
        model.bos = reader.integer(*field);
        break;
      case 42:
        model.eos = reader.integer(*field);
        break;
      case 43:
        model.padding = reader.integer(*field);
        break;
      default:
        break;  // how it was trained
    }
  }
  const auto type = static_cast<int32_t>(model.type);
  if (type < 1 || type > 4) throw_error(ErrorCode::kInvalidFile, "{}: model type {}; there are 1 to 4", name, type);
}

void read_normalizer(std::string_view message, const std::string& name, SentencePieceModel& model) {
  ProtoReader reader(message, name);
  while (const auto field = reader.next()) {
    if (field->number == 2) model.charsmap = reader.bytes(*field);
    if (field->number == 3) model.adds_space = reader.boolean(*field);
    if (field->number == 4) model.removes_extra_spaces = reader.boolean(*field);
    if (field->number == 5) model.escapes_spaces = reader.boolean(*field);
  }
}

}  // namespace

SentencePieceModel read_sentencepiece(std::string_view bytes, const std::string& name) {
  SentencePieceModel model;
  ProtoReader reader(bytes, name);
  while (const auto field = reader.next()) {
    if (field->number == 1) {
      if (model.pieces.size() == kMostPieces)
        throw_error(ErrorCode::kInvalidFile, "{}: more than {} pieces", name, kMostPieces);
      model.pieces.push_back(read_piece(reader.bytes(*field), fmt::format("{}: piece {}", name, model.pieces.size())));
    }
    if (field->number == 2) read_trainer(reader.bytes(*field), name + ": trainer_spec", model);
    if (field->number == 3) read_normalizer(reader.bytes(*field), name + ": normalizer_spec", model);
  }
  if (model.pieces.empty()) throw_error(ErrorCode::kInvalidFile, "{}: no pieces", name);
  for (const int32_t id : {model.unknown, model.bos, model.eos, model.padding})
    if (id >= std::ssize(model.pieces))
      throw_error(ErrorCode::kInvalidFile, "{}: id {}, there are {} pieces", name, id, model.pieces.size());
  return model;
}

}  // namespace ingle
