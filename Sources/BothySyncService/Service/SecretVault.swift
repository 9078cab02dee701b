public import BothyStore
import Crypto
import Foundation

/// What a server keeps the values of sensitive fields in, as far as they have to go again: with their record, and with
/// their space.
public protocol SecretVault: Sendable {
  /// Whether there is something of the record.
  func holds(space: String, _ record: RecordID) -> Bool
  /// Removes all of the record's; there may be none.
  func remove(space: String, _ record: RecordID) throws
  /// Removes all of the space's; there may be none.
  func remove(space: String) throws
  /// The records of a space that something is kept of.
  func records(of space: String) throws -> [RecordID]
}

/// Secrets in a folder that only its owner may read: a folder for each space, in it one for each record, in it a file for
/// each field. Folders are named by the SHA-256 of what they belong to; each file says in JSON of what it is.
public struct FolderSecrets: SecretVault {
  private let folder: String

  /// - Parameter folder: Made with the first secret.
  public init(folder: String) { self.folder = folder }

  /// Keeps the values of a record, each in place of the one before.
  public func receive(space: String, _ record: RecordID, _ secrets: Secrets) throws {
    for path in [folder, self.path(space)] {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
    let store = FileSecretStore(folder: path(space, record))
    for (field, value) in secrets.values { try store.set(value, for: SecretKey(record, field: field)) }
  }

  public func holds(space: String, _ record: RecordID) -> Bool {
    FileManager.default.fileExists(atPath: path(space, record))
  }

  public func remove(space: String, _ record: RecordID) throws { try Self.remove(path(space, record)) }

  public func remove(space: String) throws { try Self.remove(path(space)) }

  public func records(of space: String) throws -> [RecordID] {
    let path = path(space)
    guard FileManager.default.fileExists(atPath: path) else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: path).compactMap {
      try FileSecretStore(folder: path + "/" + $0).keys().first?.record
    }
  }

  /// Moves what an earlier version kept side by side for all spaces. Of a name that may be of two of the spaces nothing is
  /// moved. Several processes may do this at a time.
  public func adopt(spaces: [String]) throws {
    let former = FileSecretStore(folder: folder)
    for key in try former.keys() {
      let owners = spaces.filter { key.record.type.hasPrefix($0 + "/") }
      guard owners.count == 1, let space = owners.first,
        let value = try? former.secret(key)  // moved by another process meanwhile
      else { continue }
      let type = String(key.record.type.dropFirst(space.count + 1))
      let record = RecordID(type: type, id: key.record.id)
      let store = FileSecretStore(folder: path(space, record))
      if try store.secret(SecretKey(record, field: key.field)) == nil {
        try receive(space: space, record, Secrets([key.field: value]))
      }
      try? former.remove(key)  // gone already
    }
  }

  private func path(_ space: String) -> String { "\(folder)/\(Self.digest(space))" }

  /// The length keeps `ab` + `c` from being `a` + `bc`.
  private func path(_ space: String, _ record: RecordID) -> String {
    path(space) + "/" + Self.digest("\(record.type.utf8.count):\(record.type)\(record.id)")
  }

  private static func digest(_ text: String) -> String {
    SHA256.hash(data: Array(text.utf8)).hexadecimal
  }

  private static func remove(_ path: String) throws {
    guard FileManager.default.fileExists(atPath: path) else { return }
    try FileManager.default.removeItem(atPath: path)
  }
}
