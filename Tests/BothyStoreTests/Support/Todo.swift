import BothyStore

/// A synced type with a hand-written conformance.
struct Todo: Entity, Equatable {
  static let schema = TypeSchema(
    "Todo",
    fields: [
      .field("title", String.self, fullText: true),
      .field("done", Bool.self, default: false, indexed: true),
      .field("place", Coordinate?.self),
      .field("parent", Reference<Todo>?.self),
      .field("tags", [Reference<Tag>].self, default: []),
    ])

  var id: String
  var title: String
  var done = false
  var place: Coordinate?
  var parent: Reference<Todo>?
  var tags: [Reference<Tag>] = []

  init(_ id: String, _ title: String = "", done: Bool = false, tags: [String] = []) {
    self.id = id
    self.title = title
    self.done = done
    self.tags = tags.map { Reference(id: $0) }
  }

  func encode(to fields: inout FieldEncoder) {
    title.encodeField(to: &fields)
    done.encodeField(to: &fields)
    place.encodeField(to: &fields)
    parent.encodeField(to: &fields)
    tags.encodeField(to: &fields)
  }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    title = try String(fromField: &fields)
    done = try Bool(fromField: &fields)
    place = try Coordinate?(fromField: &fields)
    parent = try Reference<Todo>?(fromField: &fields)
    tags = try [Reference<Tag>](fromField: &fields)
  }
}

/// A type that stays on the device.
struct Tag: Entity, Equatable {
  static let schema = TypeSchema("Tag", fields: [.field("name", String.self, unique: true)], synced: false)

  var id: String
  var name: String

  init(_ id: String, _ name: String) {
    self.id = id
    self.name = name
  }

  func encode(to fields: inout FieldEncoder) { name.encodeField(to: &fields) }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    name = try String(fromField: &fields)
  }
}

let todoSchema = StoreSchema(Todo.self, Tag.self)
