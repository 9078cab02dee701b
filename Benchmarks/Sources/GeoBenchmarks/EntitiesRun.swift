import Bars
import BothyStore

/// A million records of a type with a coordinate, and the 20 nearest through its R-tree.
///
/// They are compared with a scan of a type without an index, which measures every record. The run also has the index's
/// cost for an insert.
struct EntitiesRun {
  private let options: Options
  private let folder: String
  private let country: Country
  private static let wanted = 20

  init(_ folder: String, _ options: Options) {
    self.options = options
    self.folder = folder
    country = Country(places: options.places)
  }

  func bars() throws -> [Bar] {
    let store = try LocalStore(at: folder + "/entities.bothy", schema: StoreSchema(Spot.self, PlainSpot.self))
    let plain = try load(PlainSpot.self, into: store)
    let indexed = try load(Spot.self, into: store)
    print("inserts, us each: \(plain.short) without an index, \(indexed.short) with one")
    var times: [Double] = []
    var ratios: [Double] = []
    for (number, question) in country.questions(options.questions).enumerated() {
      var near: [Spot] = []
      let mine = try seconds {
        near = try store.read { try $0.fetch(Spot.all.nearest(to: question) { $0.at }.limit(Self.wanted)) }
      }
      times.append(mine * 1000)
      // A scan takes thousands of times as long, so only one in a hundred queries is repeated with it.
      guard number.isMultiple(of: 100) else { continue }
      var scanned: [PlainSpot] = []
      let scan = try seconds {
        scanned = try store.read {
          try $0.fetch(PlainSpot.all.nearest(to: question) { $0.at }.limit(Self.wanted))
        }
      }
      guard near.map(\.id) == scanned.map(\.id) else { throw BenchmarkError("\(question): another answer") }
      ratios.append(scan / mine)
    }
    try store.close()
    return [
      Bar(
        claim: "\(Self.wanted) nearest of \(country.count) records, p50", measured: times.median ?? 0,
        limit: 0.5, unit: "ms"),
      Bar(
        claim: "\(Self.wanted) nearest: measuring all \(country.count) / R-tree, median of pairs",
        measured: ratios.median ?? 0, limit: 100, isMinimum: true),
    ]
  }

  /// Returns the microseconds for one record, of inserts in transactions of ten thousand.
  private func load<E: SpotEntity>(_ type: E.Type, into store: LocalStore) throws -> Double {
    let spent = try seconds {
      for start in stride(from: 0, to: country.count, by: 10_000) {
        try store.write { transaction in
          for number in start..<min(start + 10_000, country.count) {
            try transaction.insert(
              E(
                id: "\(number)",
                at: Coordinate(latitude: country.latitudes[number], longitude: country.longitudes[number])))
          }
        }
      }
    }
    return spent / Double(country.count) * 1e6
  }
}

/// A type of two columns, written by hand in the form of the macro.
private protocol SpotEntity: Entity {
  init(id: String, at: Coordinate)
}

private struct SpotFields: Sendable { let at = Field<Coordinate>("at") }

private struct Spot: SpotEntity {
  static let fields = SpotFields()
  static let schema = TypeSchema(
    "Spot", fields: [.field("at", Coordinate.self, indexed: true)], synced: false)
  var id: String
  var at: Coordinate

  init(id: String, at: Coordinate) { (self.id, self.at) = (id, at) }
  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.init(id: id, at: try Coordinate(fromField: &fields))
  }
  func encode(to fields: inout FieldEncoder) { at.encodeField(to: &fields) }
}

private struct PlainSpot: SpotEntity {
  static let fields = SpotFields()
  static let schema = TypeSchema("PlainSpot", fields: [.field("at", Coordinate.self)], synced: false)
  var id: String
  var at: Coordinate

  init(id: String, at: Coordinate) { (self.id, self.at) = (id, at) }
  init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
    self.init(id: id, at: try Coordinate(fromField: &fields))
  }
  func encode(to fields: inout FieldEncoder) { at.encodeField(to: &fields) }
}
