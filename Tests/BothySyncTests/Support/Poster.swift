import BothyStore
import BothySync

/// A record of which a newer app knows more than an older one. The older one has it as a Swift type.
struct Poster: Entity, Equatable {
  enum Colour: String, FieldConvertible { case red, blue }
  /// The part of a look that the older app reads.
  struct Look: Codable, JSONField, Equatable { var size = 1 }

  static let schema = TypeSchema(
    "Poster",
    fields: [
      .field("title", String.self), .field("score", Int.self, default: 0, merge: .counter),
      .field("stars", Int.self, default: 3), .field("colour", Colour.self, default: .red),
      .field("look", Look?.self), .field("place", String?.self, aliases: ["spot"]),
      .field("weight", Double?.self), .field("pin", String?.self, sensitive: true),
    ])

  var id = UUIDv7.make()
  var title: String
  var score = 0
  var stars = 3
  var colour = Colour.red
  var look: Look?
  var place: String?
  var weight: Double?
  var pin: String?
  var readMark = ReadMark()

  init(id: String = UUIDv7.make(), _ title: String) {
    self.id = id
    self.title = title
  }

  func encode(to fields: inout FieldEncoder) {
    title.encodeField(to: &fields)
    score.encodeField(to: &fields)
    stars.encodeField(to: &fields)
    colour.encodeField(to: &fields)
    look.encodeField(to: &fields)
    place.encodeField(to: &fields)
    weight.encodeField(to: &fields)
    pin.encodeField(to: &fields)
  }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    title = try String(fromField: &fields)
    score = try Int(fromField: &fields)
    stars = try Int(fromField: &fields)
    colour = try Colour(fromField: &fields)
    look = try Look?(fromField: &fields)
    place = try String?(fromField: &fields)
    weight = try Double?(fromField: &fields)
    pin = try String?(fromField: &fields)
    readMark = fields.readMark
  }
}

extension StoreSchema {
  /// The schema of the older app.
  static let posters = StoreSchema(version: 1, Poster.self)

  /// The schema of the newer app: its stars are words, and it has a shape and a spot.
  static let newPosters = StoreSchema(
    version: 2,
    types: [
      TypeSchema(
        "Poster",
        fields: [
          FieldSchema("title", .text), FieldSchema("score", .int, default: 0, merge: .counter),
          FieldSchema("stars", .text, optional: true), FieldSchema("colour", .text, default: "red"),
          FieldSchema("look", .json, optional: true), FieldSchema("spot", .text, optional: true),
          FieldSchema("weight", .double, optional: true), FieldSchema("shape", .text, optional: true),
        ])
    ])
}
