import BothyStore
import Foundation

/// The row that every contender stores. It has an id, a name of about twenty characters, a number, a price, a flag and
/// a date. Half of the rows have a note of about thirty-five characters.
struct Item: Sendable {
  var id: String
  var name: String
  var count: Int
  var price: Double
  var active: Bool
  var created: Date
  var note: String?
}

/// A type with the fields of `Item`.
protocol ItemEntity: Entity {
  init(_ item: Item)
}

/// `Item` as an entity that stays on the device. The conformance is written by hand, in the form of the macro.
struct LocalItem: ItemEntity {
  static let schema = TypeSchema("LocalItem", fields: itemFields(), synced: false)
  var id: String
  var name: String
  var count: Int
  var price: Double
  var active: Bool
  var created: Date
  var note: String?
}

/// Like `LocalItem`, but with an index on `count`.
struct IndexedItem: ItemEntity {
  static let schema = TypeSchema("IndexedItem", fields: itemFields(indexed: true), synced: false)
  var id: String
  var name: String
  var count: Int
  var price: Double
  var active: Bool
  var created: Date
  var note: String?
}

/// `Item` as an entity that is synced with a server.
struct SyncedItem: ItemEntity {
  static let schema = TypeSchema("SyncedItem", fields: itemFields())
  var id: String
  var name: String
  var count: Int
  var price: Double
  var active: Bool
  var created: Date
  var note: String?
}

/// Like `SyncedItem`, but with an index on `count`.
struct SyncedIndexedItem: ItemEntity {
  static let schema = TypeSchema("SyncedIndexedItem", fields: itemFields(indexed: true))
  var id: String
  var name: String
  var count: Int
  var price: Double
  var active: Bool
  var created: Date
  var note: String?
}

private func itemFields(indexed: Bool = false) -> [FieldSchema] {
  [
    .field("name", String.self), .field("count", Int.self, indexed: indexed), .field("price", Double.self),
    .field("active", Bool.self), .field("created", Date.self), .field("note", String?.self),
  ]
}

extension LocalItem {
  init(_ item: Item) {
    id = item.id
    name = item.name
    count = item.count
    price = item.price
    active = item.active
    created = item.created
    note = item.note
  }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    name = try String(fromField: &fields)
    count = try Int(fromField: &fields)
    price = try Double(fromField: &fields)
    active = try Bool(fromField: &fields)
    created = try Date(fromField: &fields)
    note = try String?(fromField: &fields)
  }

  func encode(to fields: inout FieldEncoder) {
    name.encodeField(to: &fields)
    count.encodeField(to: &fields)
    price.encodeField(to: &fields)
    active.encodeField(to: &fields)
    created.encodeField(to: &fields)
    note.encodeField(to: &fields)
  }
}

extension IndexedItem {
  init(_ item: Item) {
    id = item.id
    name = item.name
    count = item.count
    price = item.price
    active = item.active
    created = item.created
    note = item.note
  }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    name = try String(fromField: &fields)
    count = try Int(fromField: &fields)
    price = try Double(fromField: &fields)
    active = try Bool(fromField: &fields)
    created = try Date(fromField: &fields)
    note = try String?(fromField: &fields)
  }

  func encode(to fields: inout FieldEncoder) {
    name.encodeField(to: &fields)
    count.encodeField(to: &fields)
    price.encodeField(to: &fields)
    active.encodeField(to: &fields)
    created.encodeField(to: &fields)
    note.encodeField(to: &fields)
  }
}

extension SyncedItem {
  init(_ item: Item) {
    id = item.id
    name = item.name
    count = item.count
    price = item.price
    active = item.active
    created = item.created
    note = item.note
  }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    name = try String(fromField: &fields)
    count = try Int(fromField: &fields)
    price = try Double(fromField: &fields)
    active = try Bool(fromField: &fields)
    created = try Date(fromField: &fields)
    note = try String?(fromField: &fields)
  }

  func encode(to fields: inout FieldEncoder) {
    name.encodeField(to: &fields)
    count.encodeField(to: &fields)
    price.encodeField(to: &fields)
    active.encodeField(to: &fields)
    created.encodeField(to: &fields)
    note.encodeField(to: &fields)
  }
}

extension SyncedIndexedItem {
  init(_ item: Item) {
    id = item.id
    name = item.name
    count = item.count
    price = item.price
    active = item.active
    created = item.created
    note = item.note
  }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    name = try String(fromField: &fields)
    count = try Int(fromField: &fields)
    price = try Double(fromField: &fields)
    active = try Bool(fromField: &fields)
    created = try Date(fromField: &fields)
    note = try String?(fromField: &fields)
  }

  func encode(to fields: inout FieldEncoder) {
    name.encodeField(to: &fields)
    count.encodeField(to: &fields)
    price.encodeField(to: &fields)
    active.encodeField(to: &fields)
    created.encodeField(to: &fields)
    note.encodeField(to: &fields)
  }
}
