import BothyProtocol
import BothyStore
import Foundation

/// A lock on a file, held as long as the object lives and its process.
final class SecretBatchLock: Sendable {
  let file: OpenFile

  /// Makes a missing file, and waits for the lock.
  init(_ path: String, _ kind: Int32) throws {
    file = try OpenFile(path, O_RDWR | O_CREAT)
    guard flock(file.descriptor, kind) == 0 else { throw ContentFile.failure(path) }
  }

  /// Returns `nil` if the file is locked.
  init?(free path: String) throws {
    file = try OpenFile(path, O_RDWR)
    guard flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 else { return nil }
  }
}

/// The identity of a file in its file system, under any name.
struct InodeIdentity: Equatable {
  private let device: UInt64
  private let number: UInt64
  private let links: UInt64

  /// True if the file has more than one name.
  var isLinkedElsewhere: Bool { links > 1 }

  /// Returns `nil` if the path has no file.
  init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    device = UInt64(truncatingIfNeeded: status.st_dev)
    number = UInt64(truncatingIfNeeded: status.st_ino)
    links = UInt64(truncatingIfNeeded: status.st_nlink)
  }

  static func == (one: InodeIdentity, other: InodeIdentity) -> Bool {
    one.device == other.device && one.number == other.number
  }
}

/// The files and documents of batches, and those of ended processes.
extension SecretBatch {
  /// The most values whose files are flushed one by one. For more, all file systems are flushed, where that is possible.
  private static let fewValues = 8

  /// Returns the batches of ended processes that kept values, the newest first. Deletes their other ones.
  static func abandoned(in folder: String) throws -> [SecretBatch] {
    let staged = place(in: folder)
    guard !ContentFile.names(in: staged).isEmpty else { return [] }
    // A batch that is being made isn't locked yet.
    let making = try SecretBatchLock(folder + "/staged.lock", LOCK_EX)
    defer { withExtendedLifetime(making) {} }
    var found: [(batch: SecretBatch, time: Int64)] = []
    for name in ContentFile.names(in: staged) {
      let path = "\(staged)/\(name)"
      do {
        guard let lock = try SecretBatchLock(free: path + "/batch") else { continue }
        guard let time = time(path + "/kept") else {
          try? FileManager.default.removeItem(atPath: path)  // another process may have done so
          continue
        }
        guard let batch = try batch(at: path, lock, in: folder) else { continue }
        found.append((batch, time))
      } catch let error as BothyError where error.code == .notFound {
        try? FileManager.default.removeItem(atPath: path)  // another process may have done so
      }
    }
    return found.sorted { $0.time > $1.time }.map(\.batch)
  }

  private static func batch(at path: String, _ lock: SecretBatchLock, in folder: String) throws
    -> SecretBatch?
  {
    guard let values = text(at: path + "/batch"), let kept = text(at: path + "/kept") else { return nil }
    let batch = try JSONValue(parsing: Array(values.utf8))
    let state = try JSONValue(parsing: Array(kept.utf8))
    guard let space = batch["space"]?.stringValue,
      let head = state["head"]?.stringValue.flatMap({ Int64($0) })
    else { return nil }
    let list = (batch["values"]?.arrayValue ?? []).map { document in
      Value(
        operation: "", outcome: OperationKey(device: "", operation: ""),
        record: RecordID(
          type: document["type"]?.stringValue ?? "", id: document["id"]?.stringValue ?? ""),
        field: document["field"]?.stringValue, secret: document["secret"]?.stringValue)
    }
    let moves = (state["moves"]?.arrayValue ?? []).compactMap { move(of: $0, among: list.count) }
    return SecretBatch(
      abandoned: path, lock, of: space, list, State(moves: moves, head: head), in: folder)
  }

  // MARK: documents

  static func document(_ values: [Value], of space: String) -> JSONValue {
    let list = values.map { value -> JSONValue in
      var document: [String: JSONValue] = [
        "type": .string(value.record.type), "id": .string(value.record.id),
        "device": .string(value.outcome.device), "operation": .string(value.outcome.operation),
      ]
      document["field"] = value.field.map { .string($0) }
      document["secret"] = value.secret.map { .string($0) }
      return .object(document)
    }
    return ["space": .string(space), "values": .array(list)]
  }

  static func document(_ moves: [Move], upTo head: Int64) -> JSONValue {
    let list = moves.map { move -> JSONValue in
      var document: [String: JSONValue] = [
        "type": .string(move.record.type), "id": .string(move.record.id), "name": .string(move.name),
        "device": .string(move.outcome.device), "operation": .string(move.outcome.operation),
      ]
      document["value"] = move.value.map { .string(String($0)) }
      return .object(document)
    }
    return ["head": .string(String(head)), "moves": .array(list)]
  }

  private static func move(of document: JSONValue, among count: Int) -> Move? {
    guard let type = document["type"]?.stringValue, let id = document["id"]?.stringValue,
      let name = document["name"]?.stringValue, let device = document["device"]?.stringValue,
      let operation = document["operation"]?.stringValue
    else { return nil }
    let value = document["value"]?.stringValue.flatMap { Int($0) }
    if let value, !(0..<count).contains(value) { return nil }
    return Move(
      record: RecordID(type: type, id: id), name: name,
      outcome: OperationKey(device: device, operation: operation), value: value)
  }

  // MARK: files

  static func write(_ text: String, to path: String, flushing: Bool = false) throws {
    let file = try OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC)
    try file.write(Array(text.utf8), at: 0)
    if flushing { try file.sync() }
  }

  /// Returns the text of a file, or `nil` if it can't be read.
  static func text(at path: String) -> String? {
    // A missing file has no text.
    guard let file = try? OpenFile(path, O_RDONLY), let bytes = try? file.read(at: 0, count: Int(file.size))
    else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Gives a file a second name, in place of a file of that name. Does nothing if there is no such file.
  static func link(_ path: String, _ name: String) throws {
    ContentFile.remove(name)
    guard Foundation.link(path, name) == 0 || errno == ENOENT else { throw ContentFile.failure(name) }
  }

  /// Returns the time when a file was last written, in nanoseconds since 1970, or `nil` if there is none.
  private static func time(_ path: String) -> Int64? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    #if canImport(Darwin)
      let time = status.st_mtimespec
    #else
      let time = status.st_mtim
    #endif
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// Makes the files of values and their names durable, and the absence of those that are gone.
  static func flush(_ files: [(folder: String, name: String)], in space: String) throws {
    #if os(Linux)
      // It waits for the disks here, and doesn't on other systems.
      if files.count > fewValues { return sync() }
    #endif
    for (folder, name) in files {
      do {
        if ContentFile.size(of: "\(folder)/\(name)") != nil {
          try OpenFile("\(folder)/\(name)", O_RDONLY).sync()
        }
        if ContentFile.size(of: folder) != nil { try flush(folder) }
      } catch let error as BothyError where error.code == .notFound { continue }
    }
    if ContentFile.size(of: space) != nil { try flush(space) }
  }

  static func flush(_ folder: String) throws {
    let file = try OpenFile(folder, O_RDONLY)
    // Some file systems cannot sync a folder. The name is then durable with the next sync of their journal.
    _ = fsync(file.descriptor)
  }
}

extension FolderSecrets: SecretStaging {
  package func stage(space: String, _ secrets: [OperationSecrets]) throws -> any StagedSecrets {
    let values = secrets.flatMap { one in
      func value(_ field: String?, _ secret: String?) -> SecretBatch.Value {
        SecretBatch.Value(
          operation: one.operation, outcome: one.outcome, record: one.record, field: field, secret: secret)
      }
      return (one.removesAll ? [value(nil, nil)] : []) + one.cleared.map { value($0, nil) }
        + one.secrets.values.sorted { $0.key < $1.key }.map { value($0.key, $0.value) }
    }
    return try SecretBatch(values, of: space, in: folder)
  }

  package func abandoned() throws -> [any StagedSecrets] { try SecretBatch.abandoned(in: folder) }

  package func remove(space: String, _ record: RecordID, fields: [String]) throws {
    let store = FileSecretStore(folder: Self.path(record, in: "\(folder)/\(Self.digest(space))"))
    for field in fields { try store.set(nil, for: SecretKey(record, field: field)) }
  }
}
