import BothyStore
import Testing

/// Types of an app that are stored as another type of field.
@Suite("Field types of an app", .timeLimit(.minutes(5)))
struct DelegatingFieldTests {
  /// A text that a field stores.
  struct Slug: RawRepresentable, FieldConvertible, Equatable {
    var rawValue: String

    init(rawValue: String) { self.rawValue = rawValue }
    init(_ text: String) { rawValue = text }
  }

  /// A position that a field stores in two columns.
  struct Summit: RawRepresentable, FieldConvertible, Equatable {
    var rawValue: Coordinate

    init(rawValue: Coordinate) { self.rawValue = rawValue }
    init(_ position: Coordinate) { rawValue = position }
  }

  struct Hill: Entity, Equatable {
    static let schema = TypeSchema(
      "Hill",
      fields: [
        .field("slug", Slug.self), .field("former", Slug?.self), .field("summit", Summit?.self),
        .field("height", Int.self),
      ])

    var id: String
    var slug: Slug
    var former: Slug?
    var summit: Summit?
    var height: Int

    init(id: String, slug: Slug, former: Slug? = nil, summit: Summit? = nil, height: Int) {
      (self.id, self.slug, self.former, self.summit, self.height) = (id, slug, former, summit, height)
    }

    func encode(to fields: inout FieldEncoder) {
      slug.encodeField(to: &fields)
      former.encodeField(to: &fields)
      summit.encodeField(to: &fields)
      height.encodeField(to: &fields)
    }

    init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
      self.id = id
      slug = try Slug(fromField: &fields)
      former = try Slug?(fromField: &fields)
      summit = try Summit?(fromField: &fields)
      height = try Int(fromField: &fields)
    }
  }

  @Test("A field has the kind of the type that it is stored as")
  func kinds() {
    #expect(Hill.schema.fields.map(\.kind) == [.text, .text, .coordinate, .int])
    #expect(Hill.schema.fields.map(\.isOptional) == [false, true, true, false])
  }

  @Test("Values of two columns, present or missing, leave the next field in place")
  func roundTrip() throws {
    let store = try LocalStore(inMemory: StoreSchema(Hill.self))
    let high = Hill(
      id: "1", slug: Slug("ben-nevis"), former: Slug("nevis"),
      summit: Summit(Coordinate(latitude: 56.797, longitude: -5.004)), height: 1345)
    let low = Hill(id: "2", slug: Slug("arthurs-seat"), height: 251)
    try store.write {
      try $0.insert(high)
      try $0.insert(low)
    }
    #expect(try store.fetch(RecordQuery<Hill>()) == [high, low])
    #expect(try store.fetch(RecordQuery<Hill>().where(Field<Slug?>("former") == nil)) == [low])
    #expect(try store.fetch(RecordQuery<Hill>().where { $0.height > 1000 }) == [high])
  }
}
