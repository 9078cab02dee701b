import BothyCache
import BothyStore

/// Converts words of a command line to keys: addresses, or a source with its paths or tiles.
struct AskedKeys {
  private let list: SourceList
  private let sources: [ResourceSource]
  private let web: ResourceSource

  init(_ list: SourceList) throws {
    self.list = list
    sources = try list.sources.map { try $0.source() }
    web = try SourceRecord.ofAddresses()
  }

  /// Returns the keys that the words name, in their order. Throws `ToolError` or `BothyError` for invalid words.
  func keys(_ words: [String]) throws -> [AskedKey] {
    guard let first = words.first else { return [] }
    if first.contains("://") { return try words.map { try address($0) } }
    guard let source = sources.first(where: { $0.id.name == first }) else {
      throw SourceList.unknown(first, list)
    }
    let rest = Array(words.dropFirst())
    guard !rest.isEmpty else {
      throw ToolError("Say what to get of \(first): a path, or zoom, column and row of a tile.")
    }
    if source.hasTiles {
      return try tiles(rest, source).map { AskedKey(key: $0, source: source) }
    }
    return try rest.map { AskedKey(key: try source.key(path: $0), source: source) }
  }

  /// Returns the keys that each line of a file names, written like the words of a command line.
  func keys(inLinesOf path: String) throws -> [AskedKey] {
    let reader = try LineReader(path)
    var keys: [AskedKey] = []
    while let line = try reader.next() {
      let words = String(decoding: line, as: UTF8.self).split { $0 == " " || $0 == "\t" || $0 == "\r" }
      do { keys += try self.keys(words.map(String.init)) } catch {
        throw ToolError("\(path), line \(reader.line): \(ErrorMessage(error).sentence)")
      }
    }
    return keys
  }

  /// Returns the key of an address. It belongs to the source with the address's base, else to the source of all
  /// addresses.
  private func address(_ text: String) throws -> AskedKey {
    for source in sources {
      if case .base = source.address.form, let key = try? source.key(url: text) {
        return AskedKey(key: key, source: source)
      }
    }
    return AskedKey(key: try web.key(url: text), source: web)
  }

  /// Parses words in groups of three, or each as `zoom/x/y`.
  private func tiles(_ words: [String], _ source: ResourceSource) throws -> [ResourceKey] {
    let isSlashed = words.contains { $0.contains("/") }
    let groups: [[Substring]] =
      isSlashed
      ? words.map { $0.split(separator: "/", omittingEmptySubsequences: false) }
      : stride(from: 0, to: words.count, by: 3).map { words[$0..<min($0 + 3, words.count)].map { $0[...] } }
    return try groups.map { group in
      let numbers = group.map { Int($0) }
      guard numbers.count == 3, let zoom = numbers[0], let x = numbers[1], let y = numbers[2] else {
        throw ToolError(
          "'\(group.joined(separator: " "))' isn't a tile of \(source.id). Write zoom, column and row: 16 10472 22982."
        )
      }
      return try source.key(zoom: zoom, x: x, y: y)
    }
  }
}

extension ResourceSource {
  /// True if its resources are tiles, by a template or in one archive.
  fileprivate var hasTiles: Bool {
    if case .tiles = address.form { return true }
    return container != nil
  }
}

/// A key, with its source.
struct AskedKey: Sendable {
  let key: ResourceKey
  let source: ResourceSource
}
