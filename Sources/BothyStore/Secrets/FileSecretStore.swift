import Foundation

/// Secrets as files in a folder, one each, that only their owner can read (mode 0600, the folder 0700). For systems
/// without a keychain.
///
/// ```swift
/// let options = StoreOptions(secrets: FileSecretStore(folder: "/var/lib/huts/secrets"))
/// let store = try SyncedStore(at: path, schema: [Todo.self], remote: .none, options: options)
/// ```
public struct FileSecretStore: SecretStore {
  private let folder: String

  /// Creates a store in `folder`.
  ///
  /// - Parameter folder: The folder, created with the first secret.
  public init(folder: String) { self.folder = folder }

  /// Returns the value for `key`, or nil without a file. Reads one small file on the calling thread.
  ///
  /// - Throws: The system's error for a file that can't be read, and an error of the parser for one that isn't JSON.
  public func secret(_ key: SecretKey) throws -> String? {
    try document(at: path(of: key))?["secret"]?.stringValue
  }

  /// Writes a value to its file, or removes the file if `secret` is nil.
  ///
  /// Returns when the disk has it. A crash leaves the old value or the new one. Creates the folder if it is absent.
  ///
  /// - Throws: `BothyError` `.readOnly` if the folder can't be written, and the system's error if it can't be created.
  public func set(_ secret: String?, for key: SecretKey) throws {
    let manager = FileManager.default
    guard let secret else {
      // Without a file there is nothing to remove. Another process may be quicker.
      do { try manager.removeItem(atPath: path(of: key)) } catch {
        if manager.fileExists(atPath: path(of: key)) { throw error }
      }
      return
    }
    try manager.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let document = Self.document(secret, for: key)
    // Written under another name first, so that a crash leaves the old secret or the new one.
    let part = path(of: key) + ".part"
    try? manager.removeItem(atPath: part)  // Left by a crash, or absent.
    guard manager.createFile(atPath: part, contents: nil, attributes: [.posixPermissions: 0o600]),
      let handle = FileHandle(forWritingAtPath: part)
    else { throw unwritable }
    try handle.write(contentsOf: Data(document.canonicalText.utf8))
    try handle.synchronize()
    try handle.close()
    guard rename(part, path(of: key)) == 0 else { throw unwritable }
  }

  /// Returns the keys of all values, in any order. Empty without a folder.
  ///
  /// Reads each file, so the time grows with their number. Files with other suffixes than `.secret` are ignored.
  public func keys() throws -> [SecretKey] {
    guard FileManager.default.fileExists(atPath: folder) else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: folder).compactMap { name in
      guard name.hasSuffix(".secret") else { return nil }
      return try document(at: "\(folder)/\(name)").flatMap(Self.key)
    }
  }

  /// The content of the file of a value.
  package static func document(_ secret: String, for key: SecretKey) -> JSONValue {
    [
      "type": .string(key.record.type), "id": .string(key.record.id), "field": .string(key.field),
      "secret": .string(secret),
    ]
  }

  /// Returns the key that a file's content names, or `nil` for other content.
  package static func key(of document: JSONValue) -> SecretKey? {
    guard let type = document["type"]?.stringValue, let id = document["id"]?.stringValue,
      let field = document["field"]?.stringValue
    else { return nil }
    return SecretKey(RecordID(type: type, id: id), field: field)
  }

  private var unwritable: BothyError {
    BothyError(
      .readOnly,
      "The folder of secrets, \(folder), can't be written. Check its permissions and the free space.")
  }

  /// Returns nil without a file. Another process may remove one that was found before.
  private func document(at path: String) throws -> JSONValue? {
    do { return try JSONValue(parsing: Array(Data(contentsOf: URL(fileURLWithPath: path)))) } catch {
      if FileManager.default.fileExists(atPath: path) { throw error }
      return nil
    }
  }

  /// Returns a file name of fixed length, distinct for each key on every file system: 128 bits of FNV-1a over its
  /// parts.
  package func path(of key: SecretKey) -> String {
    var hash: UInt128 = 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D
    for part in [key.record.type, key.record.id, key.field] {
      for byte in Array(part.utf8) + [0] {
        hash ^= UInt128(byte)
        hash &*= 0x0000_0000_0100_0000_0000_0000_0000_013B
      }
    }
    return "\(folder)/\(String(hash, radix: 16)).secret"
  }
}
