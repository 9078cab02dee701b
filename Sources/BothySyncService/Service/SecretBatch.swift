import BothyProtocol
import BothyStore
import Foundation
import Synchronization

/// The values of one request in a folder of their own, until the request is decided and committed.
///
///     <folder>/staged/<SHA-256 of the space's name>-<uuid>/batch    all values, locked while the process lives
///                                                         /0, 1 …   each value as the file that it becomes
///                                                         /kept     what was put in force, before it was
///                                                         /old-…    links to the files that were in force before
///
/// `batch` is flushed before the transaction, `kept` and the links within it. The files of values are then linked to
/// their places without a flush. A value is recognized in its place by the identity of its file.
final class SecretBatch: StagedSecrets {
  struct Value: Sendable {
    var operation: String
    var outcome: OperationKey
    var record: RecordID
    /// `nil` for all fields.
    var field: String?
    /// `nil` for a removal.
    var secret: String?

    var text: String? {
      guard let field, let secret else { return nil }
      return FileSecretStore.document(secret, for: SecretKey(record, field: field)).canonicalText
    }
  }

  /// The change of one place.
  struct Move: Sendable {
    var record: RecordID
    /// The name of the file in the record's folder.
    var name: String
    var outcome: OperationKey
    /// The index of the value that comes there, or `nil` for a removal.
    var value: Int?
  }

  struct State: Sendable {
    var moves: [Move] = []
    var head: Int64 = 0
    /// True if another batch may bring a value of this one back.
    var isWaiting = false
  }

  let space: String
  let path: String
  private let place: String
  private let values: [Value]
  private let lock: SecretBatchLock
  private let state: Mutex<State>

  var kept: [OperationKey] { Array(Set(state.withLock { $0.moves }.map(\.outcome))) }
  var records: [RecordID] { Array(Set(state.withLock { $0.moves }.map(\.record))) }

  /// Writes the values. They are durable when this returns.
  ///
  /// - Parameter folder: the folder of all spaces.
  init(_ values: [Value], of space: String, in folder: String) throws {
    let staged = Self.place(in: folder)
    let digest = FolderSecrets.digest(space)
    let path = "\(staged)/\(digest)-\(UUID().uuidString.lowercased())"
    self.path = path
    self.space = space
    self.values = values
    place = "\(folder)/\(digest)"
    state = Mutex(State())
    try PrivateFolder.make(staged)
    do {
      let making = try SecretBatchLock(folder + "/staged.lock", LOCK_SH)
      try PrivateFolder.make(path)
      lock = try SecretBatchLock(path + "/batch", LOCK_EX)
      withExtendedLifetime(making) {}
    } catch {
      try? FileManager.default.removeItem(atPath: path)  // the next recovery deletes it
      throw error
    }
    do {
      for (index, value) in values.enumerated() {
        if let text = value.text { try Self.write(text, to: file(index)) }
      }
      try lock.file.write(Array(Self.document(values, of: space).canonicalText.utf8), at: 0)
      try lock.file.sync()
      for folder in [path, staged, folder] { try Self.flush(folder) }
    } catch {
      delete()
      throw error
    }
  }

  /// Takes over the batch of an ended process.
  init(
    abandoned path: String, _ lock: SecretBatchLock, of space: String, _ values: [Value], _ state: State,
    in folder: String
  ) {
    self.path = path
    self.lock = lock
    self.space = space
    self.values = values
    self.state = Mutex(state)
    place = "\(folder)/\(FolderSecrets.digest(space))"
  }

  static func place(in folder: String) -> String { folder + "/staged" }

  func keep(_ operations: Set<String>, upTo head: Int64) throws {
    let former = state.withLock { $0.moves }
    for move in former { try takeBack(move) }
    let moves = try moves(of: operations)
    if moves.isEmpty && former.isEmpty { return }
    // Another request of the same transaction has put its value over one of these. It came later.
    let held = Set(former.filter(isHeld).map(\.name))
    for move in former where !held.contains(move.name) { ContentFile.remove(old(move)) }
    for move in moves where !held.contains(move.name) { try Self.link(target(move), old(move)) }
    try Self.write(Self.document(moves, upTo: head).canonicalText, to: path + "/kept.part", flushing: true)
    guard rename(path + "/kept.part", path + "/kept") == 0 else { throw ContentFile.failure(path) }
    try Self.flush(path)
    state.withLock { $0 = State(moves: moves, head: head) }
    for move in moves { try put(move) }
  }

  func undo(except applied: Set<OperationKey>) throws {
    ContentFile.remove(path + "/move")
    var isWaiting = false
    for move in state.withLock({ $0.moves }) where !applied.contains(move.outcome) {
      try takeBack(move)
      if let value = move.value, InodeIdentity(file(value))?.isLinkedElsewhere ?? false { isWaiting = true }
    }
    state.withLock { $0.isWaiting = isWaiting }
  }

  func complete(_ applied: Set<OperationKey>, _ positions: [RecordID: Int64]) throws {
    let (moves, head) = state.withLock { ($0.moves, $0.head) }
    for move in moves where applied.contains(move.outcome) {
      let (present, before) = (InodeIdentity(target(move)), InodeIdentity(old(move)))
      guard let value = move.value else {
        if let present, present == before { ContentFile.remove(target(move)) }
        continue
      }
      guard let text = values[value].text else { continue }
      let isLost =
        if let present { present == before } else {
          before == nil && positions[move.record].map { $0 <= head } ?? false
        }
      let isOwn = present != nil && present == InodeIdentity(file(value))
      guard isLost || (isOwn && Self.text(at: target(move)) != text) else { continue }
      // Written to the same file, which a later batch may know as the one before its own.
      try Self.write(text, to: file(value), flushing: true)
      if !isOwn { try put(move) }
    }
  }

  func finish() {
    do {
      let (moves, isWaiting) = state.withLock { ($0.moves, $0.isWaiting) }
      if isWaiting { return }
      if !moves.isEmpty { try Self.flush(moves.map { (folder(of: $0), $0.name) }, in: place) }
      delete()
    } catch {
      // The values stay staged, and the next recovery completes them.
    }
  }

  // MARK: moves

  private func file(_ index: Int) -> String { "\(path)/\(index)" }
  private func old(_ move: Move) -> String { "\(path)/old-\(move.name)" }
  private func folder(of move: Move) -> String { FolderSecrets.path(move.record, in: place) }
  private func target(_ move: Move) -> String { "\(folder(of: move))/\(move.name)" }

  /// Returns what the operations change together: one move for each place.
  private func moves(of operations: Set<String>) throws -> [Move] {
    var moves: [String: Move] = [:]
    for (index, value) in values.enumerated() where operations.contains(value.operation) {
      let store = FolderSecrets.path(value.record, in: place)
      guard let field = value.field else {
        var names = Set(moves.values.filter { $0.record == value.record }.map(\.name))
        names.formUnion(ContentFile.names(in: store).filter { $0.hasSuffix(".secret") })
        for name in names { moves[name] = Move(record: value.record, name: name, outcome: value.outcome) }
        continue
      }
      let file = FileSecretStore(folder: store).path(of: SecretKey(value.record, field: field))
      let name = (file as NSString).lastPathComponent
      moves[name] = Move(
        record: value.record, name: name, outcome: value.outcome, value: value.secret == nil ? nil : index)
    }
    return moves.values.sorted { $0.name < $1.name }
  }

  private func put(_ move: Move) throws {
    guard let value = move.value else { return ContentFile.remove(target(move)) }
    let folder = folder(of: move)
    if mkdir(folder, 0o700) != 0, errno != EEXIST { try PrivateFolder.make(folder) }
    try Self.link(file(value), path + "/move")
    guard rename(path + "/move", target(move)) == 0 else { throw ContentFile.failure(target(move)) }
    ContentFile.remove(path + "/move")  // It is still there if both were one file.
  }

  /// Brings back what was in a place before, if the place is as this batch has left it.
  private func takeBack(_ move: Move) throws {
    let present = InodeIdentity(target(move))
    if let value = move.value {
      guard let present, present == InodeIdentity(file(value)) else { return }
    } else if present != nil {
      return
    }
    if rename(old(move), target(move)) == 0 { return }
    guard errno == ENOENT else { throw ContentFile.failure(target(move)) }
    if move.value != nil { ContentFile.remove(target(move)) }
  }

  /// True if the value that was there before may be needed after a value that came later.
  private func isHeld(_ move: Move) -> Bool {
    guard let value = move.value else { return InodeIdentity(old(move)) != nil }
    return InodeIdentity(file(value))?.isLinkedElsewhere ?? false
  }

  private func delete() {
    try? FileManager.default.removeItem(atPath: path)  // the next recovery deletes it
  }
}
