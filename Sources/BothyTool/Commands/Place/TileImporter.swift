import BothyCache
import BothyGeo
import BothyStore
import Foundation

/// Adds tiles to a file of places and counts the outcomes.
struct TileImporter {
  let places: PlaceStore
  let clock: CLIClock
  let line: ProgressLine

  private(set) var added = 0
  private(set) var updated = 0
  private(set) var unchanged = 0
  /// The number of tiles that are fresh and need no request.
  private(set) var current = 0
  /// The number of tiles that the source doesn't have.
  private(set) var absent = 0
  private(set) var failures: [String] = []

  /// The endings of files, and formats of archives, that places are read from.
  private static let endings = ["json", "geojson", "pbf", "mvt"]

  init(places: PlaceStore, clock: CLIClock, line: ProgressLine) {
    self.places = places
    self.clock = clock
    self.line = line
  }

  // MARK: files

  /// Adds a file, a folder or an archive. Throws `ToolError` for anything else.
  mutating func take(_ path: String, as tile: Tile?) async throws {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
      throw ToolError("The file \(path) does not exist. Check the path.")
    }
    if isFolder.boolValue { return try takeFolder(path) }
    if ["mbtiles", "pmtiles"].contains(URL(filePath: path).pathExtension.lowercased()) {
      return try await takeArchive(path)
    }
    guard let tile = tile ?? Tile(filePath: URL(filePath: path).standardizedFileURL.path) else {
      throw ToolError("The name of \(path) does not say which tile it is. Say so with --tile 16/18109/23965.")
    }
    take(tile, try Data(StandardStreams.read(path)), path)
  }

  /// Adds all files below a folder that are named like tiles, and skips others.
  private mutating func takeFolder(_ path: String) throws {
    let names = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
    let files = names.filter { name in Self.endings.contains { name.hasSuffix(".\($0)") } }.sorted()
      .compactMap { name in Tile(filePath: name).map { (name: name, tile: $0) } }
    guard !files.isEmpty else { throw ToolError("\(path) has no GeoJSON or vector tiles.") }
    for name in ["tiles.json", "metadata.json"] {
      // Files that aren't JSON are skipped.
      if let data = FileManager.default.contents(atPath: "\(path)/\(name)") {
        try note(attribution: (try? JSONValue(parsing: data))?["attribution"]?.stringValue)
      }
    }
    for (index, file) in files.enumerated() {
      line.show("\(index) of \(files.count) tiles")
      take(file.tile, try Data(StandardStreams.read("\(path)/\(file.name)")), file.name)
    }
  }

  private mutating func takeArchive(_ path: String) async throws {
    let archive = try await TileArchives.open(path: path)
    if let format = archive.info.tileFormat, !Self.endings.contains(format.lowercased()) {
      throw ToolError("\(path) holds \(format) tiles; places are read from GeoJSON and vector tiles.")
    }
    try archive.info.checkCoding()
    try note(attribution: archive.info.attribution)
    var tiles: [Tile] = []
    try await archive.forEachTile { tile, _ in tiles.append(tile) }
    if ["pbf", "mvt"].contains(archive.info.tileFormat?.lowercased()) {
      // Lower zooms show the same with less.
      let highest = tiles.map(\.zoom).max()
      tiles.removeAll { $0.zoom != highest }
    }
    for (index, tile) in tiles.enumerated() {
      line.show("\(index) of \(tiles.count) tiles")
      let name = "\(path), tile \(tile)"
      do {
        guard let data = try await archive.content(of: tile) else { continue }
        take(tile, data, name)
      } catch { fail(error, name) }
    }
  }

  /// Adds a tile. An error in one tile, also in the reading of its bytes, loses only that tile.
  private mutating func take(_ tile: Tile, _ bytes: @autoclosure () throws -> Data, _ name: String) {
    let now = clock.now()
    do {
      // Tiles that came by a clock that was ahead give way.
      note(try places.replace(PlaceTile(tile, payload: bytes(), receivedAt: now), now: now))
    } catch { fail(error, name) }
  }

  private mutating func fail(_ error: any Error, _ name: String) {
    failures.append("\(name): \(ErrorMessage(error).sentence)")
  }

  /// Writes an attribution to the file beside the places, as maps must show it. Call it before the tiles are added, as
  /// these stay after any error.
  private func note(attribution text: String?) throws {
    guard let text, !text.isEmpty else { return }
    let known = Attribution.of(places.path)
    if !known.contains(text) { try Attribution.write(known.union([text]), beside: places.path) }
  }

  private mutating func note(_ change: PlaceTileChange) {
    switch change {
    case .added: added += 1
    case .updated: updated += 1
    case .unchanged, .outdated, .discarded: unchanged += 1
    }
  }

  // MARK: a source

  /// Requests the tiles that are missing or older than `lifetime`, eight at a time.
  ///
  /// - Parameter removesGone: true if the places of a tile go when the server says that it is gone.
  mutating func take(
    _ tiles: [Tile], from source: ResourceSource, _ cache: ResourceCache, lifetime: Int64, removesGone: Bool
  ) async throws {
    await cache.learnNames(of: source.id)
    try note(attribution: cache.source(source.id)?.names.attribution)
    let held = try places.held(tiles)
    let now = clock.now()
    let wanted = tiles.filter { tile in
      held[tile].map { !PlaceTile.isFresh(validatedAt: $0, at: now, lifetime: lifetime) } ?? true
    }
    current += tiles.count - wanted.count
    // All have one zoom, which the source may lack.
    for tile in wanted.prefix(1) { _ = try source.key(tile) }
    let loading = TileLoading(places: places, cache: cache, source: source)
    let watch = loading.watch(over: Set(wanted.filter { held[$0] != nil }))
    await withTaskGroup(of: (Tile, TileOutcome).self) { group in
      var rest = wanted.makeIterator()
      func begin() {
        guard let tile = rest.next() else { return }
        var way = TileLoading.Way(priority: .normal, watch)
        // Features that were derived with another schema need the bytes again.
        way.isHeld = held[tile].map { $0 != PlaceTile.never } ?? false
        (way.waitsForHost, way.waitsForEnd) = (true, true)
        // The file of places may be moved without the cache.
        way.keepsBytes = true
        way.removesGone = removesGone
        group.addTask { [way] in (tile, await loading.load(tile, way)) }
      }
      for _ in 0..<8 { begin() }
      var done = 0
      while let (tile, outcome) = await group.next() {
        done += 1
        line.show("\(done) of \(wanted.count) tiles")
        note(tile, outcome)
        begin()
      }
    }
  }

  private mutating func note(_ tile: Tile, _ outcome: TileOutcome) {
    switch outcome {
    case .loaded(let isNew):
      if isNew { added += 1 } else { updated += 1 }
    case .unchanged: unchanged += 1
    case .absent: absent += 1
    case .failed(let error):
      let remedy = (error as? BothyError)?.code == .absent ? " --remove-gone lets it go." : ""
      failures.append("Tile \(tile): \(ErrorMessage(error).sentence)\(remedy)")
    }
  }

  // MARK: what came of it

  var text: String {
    let counts = [
      (added, "added"), (updated, "updated"), (unchanged, "unchanged"), (current, "not asked for"),
      (absent, "absent"), (failures.count, "failed"),
    ]
    let parts = counts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    return "Tiles: " + (parts.isEmpty ? "none" : parts.joined(separator: ", ")) + "."
  }

  func write(to writer: inout JSONWriter) {
    writer.member("added", added)
    writer.member("updated", updated)
    writer.member("unchanged", unchanged)
    writer.member("current", current)
    writer.member("absent", absent)
    writer.member("failed", failures.count)
  }
}

/// The attributions of a file of places, one on each line of `{file}.attribution`.
enum Attribution {
  static func of(_ path: String) -> Set<String> {
    // Without the file, no attribution is known.
    let text = (try? String(contentsOfFile: path + ".attribution", encoding: .utf8)) ?? ""
    return Set(text.split(separator: "\n").map(String.init))
  }

  static func write(_ texts: Set<String>, beside path: String) throws {
    let lines = texts.sorted().map { $0.split(whereSeparator: \.isNewline).joined(separator: " ") }
    try Data((lines.joined(separator: "\n") + "\n").utf8)
      .write(to: URL(filePath: path + ".attribution"), options: .atomic)
  }
}
