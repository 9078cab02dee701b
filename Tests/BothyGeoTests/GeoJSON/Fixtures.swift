import Foundation

/// Real documents, where the environment says where they are; the tests show everything without them too.
enum Fixtures {
  static let folder = ProcessInfo.processInfo.environment["BOTHY_FIXTURES"]

  /// The bytes of a file below the folder; nil, with a word about it, when there is no folder.
  static func data(_ path: String) throws -> Data? {
    guard let folder else {
      print("BOTHY_FIXTURES is not set: \(path) is not looked at.")
      return nil
    }
    return try Data(contentsOf: URL(fileURLWithPath: folder).appending(path: path))
  }

  /// The names of the files of a folder below it; none when there is no folder.
  static func names(_ path: String) throws -> [String] {
    guard let folder else {
      print("BOTHY_FIXTURES is not set: \(path) is not looked at.")
      return []
    }
    return try FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(path)").sorted()
  }
}
