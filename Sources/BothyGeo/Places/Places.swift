internal import BothyStore
internal import Foundation
internal import GRDB
internal import Synchronization

/// The places of the tiles that were handed in, in a SQLite file of their own: each feature once, found by position, name,
/// id and category.
///
/// A tile is replaced in one transaction, and its bytes are kept: another category table needs no download. Everything
/// in the file can be fetched again, so a file that is damaged is put away and begun anew, and one of another version too,
/// with its tiles as they came; what
/// a user made belongs into a `Store`. All calls block: a look-up costs some 50 µs, a tile of 1000 features some 50 ms.
/// Any thread may call; reads go on while a tile is written.
public final class Places: Sendable {
  /// Where the file is.
  public let path: String
  private let state: Mutex<State>

  private struct State {
    var pool: ClosableDatabase
    var categories: CategoryTable
    var generation = 0
    var revision = 0
  }

  /// Counts up when a tile's features are read in another way than before.
  static let parserVersion: Int64 = 1

  /// Opens or makes the file at `path` and derives the features of tiles anew whose categories are of another version
  /// than `categories`, or that were read by another version of this library: one transaction for each such tile.
  ///
  /// Throws `GeoError` `.unavailable` for a file that can't be opened and for a database of something else.
  public init(path: String, categories: CategoryTable = .common) throws(GeoError) {
    self.path = path
    let pool = try PlaceFile.open(path)
    state = Mutex(State(pool: pool, categories: categories))
    try deriveAnew()
  }

  /// Closes the file; calls that follow throw.
  public func close() throws(GeoError) {
    do { try state.withLock { $0.pool }.close() } catch { throw PlaceFile.failure(error, path) }
  }

  /// The table that features are sorted by at present.
  public var categories: CategoryTable { state.withLock { $0.categories } }

  /// Counts the times that the places were cleared. Taken before a tile is fetched and given to `replace`, it keeps out
  /// what was on its way when they were.
  public var generation: Int { state.withLock { $0.generation } }

  /// Counts up with every change of what the features are, made through this value.
  public var revision: Int { state.withLock { $0.revision } }

  func noteChange() { state.withLock { $0.revision += 1 } }

  /// Sorts all features into the categories of another table, from the bytes of their tiles: one transaction for each
  /// tile that was read with another version. Throws `GeoError`.
  public func setCategories(_ categories: CategoryTable) throws(GeoError) {
    state.withLock { $0.categories = categories }
    try deriveAnew()
  }

  /// Removes every tile and feature in one transaction and gives the room back. Throws `GeoError`; then nothing is
  /// removed.
  public func clear() throws(GeoError) {
    try write { database in
      for table in ["tile", "feature", "version", "junction", "area", "words"] {
        try database.execute(sql: "DELETE FROM \(table)")
      }
      self.state.withLock { $0.generation += 1 }
    }
    noteChange()
    // Done when it can be: readers may hold on to pages for a while.
    try? state.withLock { $0.pool }.vacuum()
  }

  /// Runs reads on one snapshot.
  func read<Result>(_ body: (Database) throws -> Result) throws(GeoError) -> Result {
    let pool = state.withLock { $0.pool }
    do { return try pool.read(body) } catch { throw recovered(error, pool) }
  }

  /// Runs writes in one transaction.
  func write<Result>(_ body: (Database) throws -> Result) throws(GeoError) -> Result {
    let pool = state.withLock { $0.pool }
    do { return try pool.write(body) } catch { throw recovered(error, pool) }
  }

  /// Begins the file anew when the error tells of damage, and tells of it.
  private func recovered(_ error: any Error, _ pool: ClosableDatabase) -> GeoError {
    guard PlaceFile.isDamage(error) || error is FeatureDamage else { return PlaceFile.failure(error, path) }
    do {
      try state.withLock { state in
        guard state.pool === pool else { return }  // another call has done it
        try PlaceFile.putAway(path)
        state.pool = try PlaceFile.open(path)
        state.generation += 1
        state.revision += 1
      }
    } catch { return PlaceFile.failure(error, path) }
    try? pool.close()  // when the calls that still run are done
    return GeoError(
      .damagedPlaces,
      "The places at \(path) were damaged. The file was put away and begun anew: fetch the tiles again.",
      underlying: error)
  }

  private func deriveAnew() throws(GeoError) {
    let categories = self.categories
    let stale = try read { database in
      let statement = try PreparedStatement(
        "SELECT morton FROM tile WHERE categories <> ? OR parser <> ?", in: database)
      statement.bind(Int64(categories.version), at: 1)
      statement.bind(Self.parserVersion, at: 2)
      var found: [Int64] = []
      while try statement.step() { found.append(statement.int(at: 0)) }
      return found
    }
    for morton in stale {
      try write { database in
        guard let held = try PlaceTileRow.read(morton, database) else { return }
        let writer = PlaceWriter(database)
        do {
          let content = try GeoJSONTile(decoding: held.payload, categories: categories)
          try writer.replace(morton, content.features)
          try PlaceTileRow.write(held, categories: Int64(categories.version), database)
        } catch let error as GeoError where error.code == .notATile {
          // Another version took it for a tile; without it the tile counts as missing and is fetched again.
          try writer.remove(morton)
        }
      }
    }
    if !stale.isEmpty { noteChange() }
  }
}
