import BothyStore

/// A shelf of books.
struct Shelf: Entity, Equatable {
  struct Fields: Sendable {
    let name = Field<String>("name")
    let floor = Field<Int>("floor")
  }
  static let fields = Fields()
  static let schema = TypeSchema(
    "Shelf", fields: [.field("name", String.self), .field("floor", Int.self)], synced: false)

  var id: String
  var name: String
  var floor: Int

  init(_ id: String, _ name: String, _ floor: Int) { (self.id, self.name, self.floor) = (id, name, floor) }

  func encode(to fields: inout FieldEncoder) {
    name.encodeField(to: &fields)
    floor.encodeField(to: &fields)
  }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    name = try String(fromField: &fields)
    floor = try Int(fromField: &fields)
  }
}

/// A book that stands on a shelf, was lent from one or not, and has a kind that older apps may not know.
struct Book: Entity, Equatable {
  enum Kind: String, FieldConvertible, CaseIterable { case novel, atlas }

  struct Fields: Sendable {
    let title = Field<String>("title")
    let pages = Field<Int>("pages")
    let weight = Field<Double>("weight")
    let shelf = Field<Reference<Shelf>>("shelf")
    let lender = Field<Reference<Shelf>?>("lender")
    let place = Field<Coordinate?>("place")
    let kind = Field<Kind>("kind")
  }
  static let fields = Fields()
  static let schema = TypeSchema(
    "Book",
    fields: [
      .field("title", String.self, fullText: true, natural: true), .field("pages", Int.self, indexed: true),
      .field("weight", Double.self),
      .field("shelf", Reference<Shelf>.self, onDelete: .cascade),
      .field("lender", Reference<Shelf>?.self), .field("place", Coordinate?.self, indexed: true),
      .field("kind", Kind.self),
    ])

  var id: String
  var title: String
  var pages: Int
  var weight: Double
  var shelf: Reference<Shelf>
  var lender: Reference<Shelf>?
  var place: Coordinate?
  var kind = Kind.novel

  init(_ id: String, _ title: String, pages: Int, weight: Double = 1, shelf: String, lender: String? = nil) {
    (self.id, self.title, self.pages, self.weight) = (id, title, pages, weight)
    self.shelf = Reference(id: shelf)
    self.lender = lender.map { Reference(id: $0) }
  }

  func encode(to fields: inout FieldEncoder) {
    title.encodeField(to: &fields)
    pages.encodeField(to: &fields)
    weight.encodeField(to: &fields)
    shelf.encodeField(to: &fields)
    lender.encodeField(to: &fields)
    place.encodeField(to: &fields)
    kind.encodeField(to: &fields)
  }

  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.id = id
    title = try String(fromField: &fields)
    pages = try Int(fromField: &fields)
    weight = try Double(fromField: &fields)
    shelf = try Reference<Shelf>(fromField: &fields)
    lender = try Reference<Shelf>?(fromField: &fields)
    place = try Coordinate?(fromField: &fields)
    kind = try Kind(fromField: &fields)
  }
}
