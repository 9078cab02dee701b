import BothyProtocol
import BothyStore
import Crypto
import Foundation

/// Secrets in a folder that only its owner may read.
///
/// It has a folder for each space, with one for each record, and in that a file for each field. Folders are named by
/// the SHA-256 of their space or record, and each file names its field in JSON. The folder `staged` has values of
/// requests that aren't committed yet. Its file system needs hard links. The values aren't encrypted.
public struct FolderSecrets: SecretVault {
  let folder: String

  /// Makes a vault. Reads and creates nothing.
  ///
  /// - Parameter folder: The folder, created with the first secret.
  public init(folder: String) { self.folder = folder }

  /// Stores the values of a record, each in place of the one before.
  ///
  /// Each value is a file. Values of other fields stay. Blocks the thread.
  ///
  /// - Throws: the error of the file system. Some of the values may be stored then, and a repetition stores all.
  public func receive(space: String, _ record: RecordID, _ secrets: Secrets) throws {
    for path in [folder, self.path(space)] {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
    let store = FileSecretStore(folder: path(space, record))
    for (field, value) in secrets.values { try store.set(value, for: SecretKey(record, field: field)) }
  }

  /// Returns true if the vault has a folder of the record. Costs one look-up.
  public func holds(space: String, _ record: RecordID) -> Bool {
    FileManager.default.fileExists(atPath: path(space, record))
  }

  /// Deletes the folder of the record. Does nothing without one. Staged values stay.
  public func remove(space: String, _ record: RecordID) throws { try Self.remove(path(space, record)) }

  /// Deletes the folder of the space, and staged values of its requests.
  ///
  /// Lists the folder of staged values. Does nothing for a space without secrets.
  public func remove(space: String) throws {
    try Self.remove(path(space))
    let staged = SecretBatch.place(in: folder)
    for name in ContentFile.names(in: staged) where name.hasPrefix(Self.digest(space)) {
      try Self.remove("\(staged)/\(name)")
    }
  }

  /// Returns the records of a space with values, in any order. Reads all files of the space.
  public func records(of space: String) throws -> [RecordID] {
    let path = path(space)
    guard FileManager.default.fileExists(atPath: path) else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: path).compactMap {
      try FileSecretStore(folder: path + "/" + $0).keys().first?.record
    }
  }

  /// True if secrets of an earlier version are there, for `adopt`. Lists the folder, and reads these.
  ///
  /// The vault finds none of them until they are adopted.
  public var hasFormer: Bool {
    get throws { try !FileSecretStore(folder: folder).keys().isEmpty }
  }

  /// Moves secrets that an earlier version stored together for all spaces.
  ///
  /// A name that may belong to two of the spaces isn't moved. Several processes may do this at a time. Costs a few
  /// calls of the file system for each value. A value that a space has by now stays in place of the former one.
  ///
  /// - Parameter spaces: the names of all spaces of the server. Secrets of others stay where they are.
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
      try? former.remove(key)  // deleted already
    }
  }

  private func path(_ space: String) -> String { "\(folder)/\(Self.digest(space))" }

  private func path(_ space: String, _ record: RecordID) -> String { Self.path(record, in: path(space)) }

  /// Returns the folder of a record in that of its space.
  static func path(_ record: RecordID, in space: String) -> String {
    // The length distinguishes `ab` + `c` from `a` + `bc`.
    space + "/" + digest("\(record.type.utf8.count):\(record.type)\(record.id)")
  }

  static func digest(_ text: String) -> String {
    SHA256.hash(data: Array(text.utf8)).hexadecimal
  }

  private static func remove(_ path: String) throws {
    guard FileManager.default.fileExists(atPath: path) else { return }
    try FileManager.default.removeItem(atPath: path)
  }
}
