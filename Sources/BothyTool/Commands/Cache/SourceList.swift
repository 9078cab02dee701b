import BothyCache
import Foundation

/// The sources and limits of a cache's folder: `sources.json`, which people may read and edit.
struct SourceList: Codable {
  static let fileName = "sources.json"

  var version = 1
  var limits: Limits?
  var sources: [SourceRecord] = []

  struct Limits: Codable {
    var bytes: Int64?
    var entries: Int?
  }

  /// The limits of the store on disk.
  var diskLimits: DiskCache.Limits {
    guard let limits else { return DiskCache.Limits() }
    return DiskCache.Limits(bytes: limits.bytes, count: limits.entries)
  }

  subscript(id: String) -> SourceRecord? { sources.first { $0.id == id } }

  /// Reads the folder's list, or returns an empty one if it doesn't exist.
  static func load(folder: String) throws -> SourceList {
    let path = folder + "/" + fileName
    guard FileManager.default.fileExists(atPath: path) else { return SourceList() }
    let list: SourceList
    do {
      list = try JSONDecoder().decode(SourceList.self, from: Data(try StandardStreams.read(path)))
    } catch let error as DecodingError {
      throw ToolError("\(path) isn't a list of sources: \(Self.place(of: error)). Correct it or delete it.")
    }
    guard list.version == 1 else {
      throw ToolError("\(path) has version \(list.version); this program knows 1. Use a newer one.")
    }
    return list
  }

  /// Changes the folder's list while other processes can't. Creates the folder if needed.
  ///
  /// The file is replaced completely, and only its owner can read it, as it may have secrets.
  static func change<Result>(folder: String, _ body: (inout SourceList) throws -> Result) throws -> Result {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    return try PrivateFile.change(folder + "/" + fileName) {
      var list = try load(folder: folder)
      let result = try body(&list)
      list.sources.sort { $0.id < $1.id }
      return (result, try list.json)
    }
  }

  private var json: Data {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      return try encoder.encode(self)
    }
  }

  private static func place(of error: DecodingError) -> String {
    let context: DecodingError.Context
    switch error {
    case .typeMismatch(_, let found), .valueNotFound(_, let found), .keyNotFound(_, let found),
      .dataCorrupted(let found):
      context = found
    @unknown default: return "\(error)"
    }
    let path = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }
    return path.isEmpty ? "it is not JSON of that shape" : "look at " + path.joined(separator: ".")
  }
}
