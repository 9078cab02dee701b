internal import BothyStore
internal import Foundation
internal import GRDB

/// One file of a pack, opened at the first use and closed with the last reference to this object. It is opened with
/// `immutable=1`, so that SQLite takes no lock and creates no files beside it.
///
/// It has one connection, used by one thread at a time. Look-ups run cached statements under the same lock. They bypass
/// the queue of the connection, which costs more than a look-up.
///
/// `lock` guards all mutable state.
final class PackFile: @unchecked Sendable {
  private let path: String
  private let file: Pack.Manifest.File
  private let fingerprint: String
  private let options: Pack.Options
  private let lock = NSLock()
  private var queue: DatabaseQueue?
  private var lookUps: [Int: PreparedStatement] = [:]

  init(_ file: Pack.Manifest.File, of manifest: Pack.Manifest, in folder: String, _ options: Pack.Options) {
    path = folder + "/" + file.name
    self.file = file
    fingerprint = manifest.fingerprint
    self.options = options
  }

  deinit {
    lookUps = [:]
    guard let queue else { return }
    try? queue.close()  // read only: nothing is lost
    options.onEvent?(.closed(file: file.name))
  }

  /// Runs `body` with a statement that is cached under `slot`, ready for binding.
  func lookUp<Result>(
    _ slot: Int, sql: String, _ body: (PreparedStatement) throws -> Result
  ) throws -> Result {
    lock.lock()
    defer { lock.unlock() }
    do {
      let statement: PreparedStatement
      if let kept = lookUps[slot] {
        statement = kept
      } else {
        statement = try connection().inDatabase { try PreparedStatement(unkept: sql, in: $0) }
        lookUps[slot] = statement
      }
      defer { statement.reset() }
      return try body(statement)
    } catch { throw known(error) }
  }

  /// Runs `body` on the connection.
  func read<Result>(_ body: (Database) throws -> Result) throws -> Result {
    lock.lock()
    defer { lock.unlock() }
    do { return try connection().inDatabase(body) } catch { throw known(error) }
  }

  /// Returns the connection, and opens it if needed. The caller has the lock.
  private func connection() throws -> DatabaseQueue {
    if let queue { return queue }
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)  // absent: reported below
    guard let size = attributes?[.size] as? Int64 else { throw damaged("it is not there") }
    guard size == file.bytes else { throw damaged("it has \(size) bytes in place of \(file.bytes)") }
    let opened = try DatabaseQueue(path: Self.address(of: path), configuration: configuration())
    do {
      let note = try opened.inDatabase { database in
        try String.fetchOne(database, sql: "SELECT value FROM bothy_meta WHERE key = 'pack'")
      }
      guard note == PackNote(file, fingerprint: fingerprint).text else {
        throw damaged("it belongs to another pack")
      }
    } catch {
      try? opened.close()  // read only: nothing is lost
      throw error
    }
    queue = opened
    options.onEvent?(.opened(file: file.name))
    return opened
  }

  private func configuration() -> Configuration {
    var configuration = Configuration()
    configuration.readonly = true
    configuration.foreignKeysEnabled = false
    configuration.label = "bothy.pack"
    let kibibytes = options.cacheSize / 1024
    configuration.prepareDatabase { database in
      try database.execute(sql: "PRAGMA cache_size = -\(kibibytes)")
      QueryFunctions.install(in: database)
      try WordTokenizer.install(in: database)
    }
    return configuration
  }

  /// Returns the path as a URI of an immutable file (SQLite documentation, "Uniform Resource Identifiers").
  private static func address(of path: String) -> String {
    var allowed = CharacterSet.urlPathAllowed
    allowed.remove(charactersIn: "?#%")
    return "file:\(path.addingPercentEncoding(withAllowedCharacters: allowed) ?? path)?immutable=1"
  }

  /// Returns the error as a `BothyError` if SQLite reports that the file is damaged.
  private func known(_ error: any Error) -> any Error {
    guard let failure = error as? DatabaseError else { return error }
    switch failure.resultCode {
    case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_IOERR, .SQLITE_CANTOPEN, .SQLITE_ERROR:
      return damaged(failure.message ?? "\(failure.resultCode)", failure)
    default: return BothyError(failure, path: path)
    }
  }

  private func damaged(_ what: String, _ cause: (any Error)? = nil) -> BothyError {
    BothyError(
      .damagedFile,
      "The file \(path) of a pack can't be used: \(what). Run `bothy pack verify`, and get or build the pack again.",
      underlying: cause)
  }
}

/// The identity in a file of a pack, which detects files of other packs.
struct PackNote {
  let text: String

  init(_ file: Pack.Manifest.File, fingerprint: String) {
    var members: [String: JSONValue] = ["fingerprint": .string(fingerprint)]
    if let type = file.type {
      members["type"] = .string(type)
      members["key"] = file.json["key"]
    }
    text = JSONValue.object(members).canonicalText
  }
}
