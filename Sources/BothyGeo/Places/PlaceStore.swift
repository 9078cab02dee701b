internal import BothyCache
internal import BothyStore
internal import Foundation
internal import GRDB
internal import Synchronization

/// A database of the places of tiles, in its own SQLite file. Each feature occurs once and is found by position, name,
/// id or category.
///
/// A tile is replaced in one transaction. Its bytes are stored here or in the cache that they came from, so another
/// category table needs no download.
///
/// Everything in the file can be fetched again. A damaged file, or one of a newer version, is quarantined and recreated
/// with its readable tiles. The cache of a `NearbyMap` then sends `.storeReplaced`, also to later listeners. Store data
/// that a user created in a `LocalStore`.
///
/// All calls block: a look-up costs some 50 µs, a tile of 1000 features some 50 ms. Calls are safe from any thread.
/// Reads continue while a tile is written.
public final class PlaceStore: Sendable {
  /// The path of the file.
  package let path: String
  private let state: Mutex<State>

  /// The reader of tiles' bytes.
  let decoder: PlaceDecoder
  /// The number of the parser and of the decoder, which is stored with each tile.
  let parser: Int64

  private struct State {
    var pool: ClosableDatabase
    var isClosed = false
    var categories: CategoryTable
    var generation = 0
    var revision = 0
    /// The tiles that no eviction deletes, by the map that needs them.
    var kept: [ObjectIdentifier: Set<Tile>] = [:]
    /// The last repairs of the file since it was opened, as sentences.
    var repairs: [String] = []
    /// The caches that are told of repairs.
    var listeners: [Listener] = []
  }

  private struct Listener: Sendable { weak var cache: ResourceCache? }

  /// The versions that features are derived with now.
  var versions: PlaceTileRow.Versions {
    PlaceTileRow.Versions(parser: parser, categories: Int64(categories.version))
  }

  /// The version of the parser, which increases when features are derived from tiles differently.
  private static let parserVersion: Int64 = 4

  /// Opens or creates the file at `path`.
  ///
  /// Derives the features of tiles again if their version of `categories`, of the schema, of the decoder or of the parser
  /// differs. This is one transaction for each such tile. Tiles whose bytes are in a cache keep their features until a
  /// `NearbyMap` reads them there. Others keep theirs if the decoder can't read them, or if the disk is full.
  ///
  /// - Parameters:
  ///   - categories: the table from tags to categories.
  ///   - schema: the meaning of vector tiles, or `nil` for the known schemas. GeoJSON needs none.
  ///   - decoder: the reader of tiles in a format of the app's own, or `nil` for GeoJSON and vector tiles. With it, the
  ///     schema isn't used.
  ///   - decoderVersion: a number that increases when the decoder derives other features from the same bytes.
  /// - Throws: `BothyError` `unavailable` for a file that can't be opened and for a database of another application.
  public init(
    path: String, categories: CategoryTable = .common, schema: TileSchema? = nil,
    decoder: (any TileDecoder)? = nil, decoderVersion: Int = 1
  ) throws(BothyError) {
    self.path = path
    let reader = PlaceDecoder(schema, decoder, version: decoderVersion)
    self.decoder = reader
    parser = reader.identity << 8 | Self.parserVersion
    let (pool, repair) = try PlaceDatabase.open(path)
    state = Mutex(State(pool: pool, categories: categories, repairs: repair.map { [$0] } ?? []))
    do { try derive(in: pool) } catch {
      // Without room, tiles keep the features of another version. A later opening derives them.
      if ClosableDatabase.isUnwritable(error) { return }
      let failure = recovered(error, pool)
      // The file was replaced, with its readable tiles.
      guard failure.code == .damagedPlaces else { throw failure }
    }
  }

  /// Closes the file. Later calls throw `BothyError` `unavailable`. Close a `NearbyMap` of these places before.
  public func close() throws(BothyError) {
    let pool = state.withLock { state in
      state.isClosed = true
      return state.pool
    }
    do { try pool.close() } catch { throw PlaceDatabase.failure(error, path) }
  }

  /// The current table of categories.
  package var categories: CategoryTable { state.withLock { $0.categories } }

  /// The number of times that the places were cleared. Read it before a tile is fetched and pass it to `replace`, which
  /// then ignores tiles that were loading when the places were cleared.
  package var generation: Int { state.withLock { $0.generation } }

  /// A state of the features. Each change leads to another one.
  struct Revision: Hashable, Sendable {
    fileprivate var own: Int
    /// The number that SQLite has for the changes by other connections, such as those of another process.
    fileprivate var others: Int64
  }

  /// Returns the present state of the features. Waits for a running write.
  func revision() throws(BothyError) -> Revision {
    let pool = try current()
    let own = state.withLock { $0.revision }
    do {
      let others = try pool.writeWithoutTransaction { database in
        try Int64.fetchOne(database, sql: "PRAGMA data_version")
      }
      return Revision(own: own, others: others ?? 0)
    } catch { throw recovered(error, pool) }
  }

  func noteChange() { state.withLock { $0.revision += 1 } }

  /// The repairs of the file since it was opened, as sentences. The last 16 are kept.
  package var repairs: [String] { state.withLock { $0.repairs } }

  /// Reports the repairs of the file as events of a cache, those until now and later ones. Each is reported once.
  func reportRepairs(to cache: ResourceCache) {
    let earlier = state.withLock { state -> [String] in
      state.listeners.removeAll { $0.cache == nil }
      guard !state.listeners.contains(where: { $0.cache === cache }) else { return [] }
      state.listeners.append(Listener(cache: cache))
      return state.repairs
    }
    for repair in earlier { cache.reportReplacement(repair) }
  }

  /// Protects tiles from evictions, in place of the holder's earlier ones.
  func keep(_ tiles: Set<Tile>, for holder: ObjectIdentifier) {
    state.withLock { $0.kept[holder] = tiles.isEmpty ? nil : tiles }
  }

  /// The tiles that any holder keeps.
  var kept: Set<Tile> { state.withLock { $0.kept.values.reduce(into: []) { $0.formUnion($1) } } }

  /// Assigns the categories of another table to all features, from the bytes of their tiles. Runs one transaction for
  /// each tile that was read with another version. Tiles whose bytes are in a cache follow with the next refresh of the
  /// `NearbyMap`. Throws `BothyError`.
  package func setCategories(_ categories: CategoryTable) throws(BothyError) {
    state.withLock { $0.categories = categories }
    try deriveAnew()
  }

  /// Deletes every tile and feature in one transaction and frees the disk space.
  ///
  /// Saved places and the bytes in a cache stay. `NearbyMap.clear()` removes those of its source too. Tiles that a map
  /// is loading meanwhile aren't stored.
  ///
  /// - Throws: `BothyError` `unavailable` if nothing was deleted.
  public func clear() throws(BothyError) {
    try write { database in
      for table in ["tile", "tile_use", "feature", "version", "junction", "area", "words"] {
        try database.execute(sql: "DELETE FROM \(table)")
      }
      self.state.withLock { $0.generation += 1 }
    }
    noteChange()
    vacuum()
  }

  /// Vacuums when possible: readers may use pages for a while, and the disk may lack the room.
  func vacuum() { try? state.withLock { $0.pool }.vacuum() }

  /// Runs reads on one snapshot.
  func read<Result>(_ body: (Database) throws -> Result) throws(BothyError) -> Result {
    let pool = try current()
    do { return try pool.read(body) } catch { throw recovered(error, pool) }
  }

  /// Runs writes in one transaction.
  func write<Result>(_ body: (Database) throws -> Result) throws(BothyError) -> Result {
    let pool = try current(toWrite: true)
    do { return try pool.write(body) } catch { throw recovered(error, pool) }
  }

  /// Returns the open file. If another process has repaired it, that is the new one.
  ///
  /// - Parameter toWrite: true reopens a file that was opened without its log, as the disk may have room by now.
  private func current(toWrite: Bool = false) throws(BothyError) -> ClosableDatabase {
    let (pool, isClosed) = state.withLock { ($0.pool, $0.isClosed) }
    let isUnwritten = toWrite && pool.isReadOnly
    guard !isClosed, isUnwritten || pool.isReplaced else { return pool }
    let fresh = try PlaceDatabase.open(path).database
    // Reads of the old file may still run. It closes when the last one releases it.
    return state.withLock { state in
      if state.pool === pool {
        state.pool = fresh
        state.revision += 1
      }
      return state.pool
    }
  }

  /// Replaces the file if the error reports damage, and returns the error to throw.
  private func recovered(_ error: any Error, _ pool: ClosableDatabase) -> BothyError {
    // A file that is read without its log may only appear damaged.
    guard !pool.isReadOnly, PlaceDatabase.isDamage(error) || error is FeatureDamage else {
      return PlaceDatabase.failure(error, path)
    }
    // Waits for the calls that still run. SQLite then removes the log by its name, which the new file needs.
    try? pool.close()
    do {
      let done = try state.withLock { state -> (ClosableDatabase, [ResourceCache], String)? in
        guard state.pool === pool else { return nil }  // another call did this
        let (database, repair) = try PlaceDatabase.replaced(path, pool.fileNumber, because: error)
        state.pool = database
        state.generation += 1
        state.revision += 1
        guard let repair else { return (database, [], "") }
        state.repairs = state.repairs.suffix(15) + [repair]
        return (database, state.listeners.compactMap { $0.cache }, repair)
      }
      if let (fresh, caches, repair) = done {
        // A tile that isn't derived now counts as missing until the next opening, or until a map needs it.
        try? derive(in: fresh)
        for cache in caches { cache.reportReplacement(repair) }
      }
    } catch { return PlaceDatabase.failure(error, path) }
    return BothyError(
      .damagedPlaces,
      "The places at \(path) were damaged. The file was quarantined, and a new one has its readable tiles. Call again; "
        + "other tiles are fetched when they are needed.",
      underlying: error)
  }

  private func deriveAnew() throws(BothyError) {
    let pool = state.withLock { $0.pool }
    do { try derive(in: pool) } catch { throw recovered(error, pool) }
  }

  /// Derives the features of the tiles that were read with other versions.
  private func derive(in pool: ClosableDatabase) throws {
    let (categories, versions) = (self.categories, self.versions)
    let stale = try pool.read { database in
      let statement = try PreparedStatement(
        """
        SELECT morton FROM tile JOIN tile_use USING (morton)
        WHERE is_cached = 0 AND (categories <> ? OR parser <> ?)
        """, in: database)
      statement.bind(versions.categories, at: 1)
      statement.bind(versions.parser, at: 2)
      var found: [Int64] = []
      while try statement.step() { found.append(statement.int(at: 0)) }
      return found
    }
    for morton in stale {
      try pool.write { database in
        guard let held = try PlaceTileRow.read(morton, database) else { return }
        let writer = PlaceWriter(database)
        do {
          let features = try decoder.features(in: held.payload, of: held.tile, categories: categories)
          try writer.replace(morton, features)
          try PlaceTileRow.note(versions, of: morton, database)
        } catch let error as BothyError where error.code == .notATile {
          // Another decoder accepted these bytes, as that of an app whose file the tool reads. The tile stays, with its
          // features, and counts as old.
          return
        }
      }
    }
    if !stale.isEmpty { noteChange() }
  }
}
