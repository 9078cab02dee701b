import BothyStore
import BothySync

/// The changes of users to records.
extension TypesRunner {
  func write(_ index: Int, _ acts: [TypesHistory.Act], _ delivery: WriteGrouping) throws {
    let held = held[index]
    let done = try store(index).write(delivery) { transaction in
      try acts.filter { try $0.perform(in: transaction, held) }
    }
    for act in done { count(act.what.rawValue) }
    if delivery == .atomic && done.count > 1 { count("together") }
  }

  func draft(_ index: Int, _ act: TypesHistory.Act) async throws {
    let held = held[index]
    let drafts = try await store(index).writeDraft { _ = try act.perform(in: $0, held) }
    if !drafts.isEmpty { count("draft") }
  }

  func release(_ index: Int) throws {
    let store = store(index)
    let drafts = try store.outboxEntries().map(\.id).filter { try store.state(of: $0) == .draft }
    guard !drafts.isEmpty else { return }
    try store.release(drafts)
    count("release")
  }

  func read(_ index: Int, _ name: TypesName) throws {
    guard let record = try store(index).store.record(name.record) else { return }
    held[index][name.record] = record
    count("read")
  }

  func save(_ index: Int, _ name: TypesName, _ content: [String: TypesValue]) async throws {
    guard let record = try changed(index, name, content) else { return }
    receipts[index].append(try await store(index).save(record))
    count("save")
  }

  func online(_ index: Int, _ name: TypesName, _ content: [String: TypesValue], _ only: Bool) async throws {
    guard let record = try changed(index, name, content) else { return }
    count(only ? "onlineOnly" : "online")
    let options = RequestOptions(writePolicy: only ? .remote : .remoteThenLocal)
    receipts[index].append(try await store(index).save(record, options: options))
  }

  /// Returns the local record with the content applied, or nil if it doesn't exist.
  private func changed(_ index: Int, _ name: TypesName, _ content: [String: TypesValue]) throws -> AnyRecord?
  {
    try store(index).store.read { transaction in
      guard var record = try transaction.record(name.record) else { return nil }
      for (field, value) in try content.fields(in: transaction) { record[field] = value }
      return record
    }
  }

  func share(_ index: Int, _ name: TypesName, _ user: String) async throws {
    guard try isHere(index, name) else { return }
    try await store(index).sharing.share(name.record, with: .users(user))
    count("share")
  }

  func unshare(_ index: Int, _ name: TypesName, _ user: String) async throws {
    guard try isHere(index, name) else { return }
    try await store(index).sharing.unshare(name.record, from: .users(user))
    count("unshare")
  }

  func isHere(_ index: Int, _ name: TypesName) throws -> Bool {
    try store(index).store.record(name.record) != nil
  }
}

extension TypesHistory.Act {
  /// Performs the act if its record allows it. Returns true if it did.
  ///
  /// - Parameter held: the values that were read long ago.
  func perform(in transaction: WriteTransaction, _ held: [RecordID: AnyRecord]) throws -> Bool {
    let id = record.record
    let isHere = try transaction.record(id) != nil
    let fields = try content.fields(in: transaction)
    switch what {
    case .insert:
      guard !isHere, record.kind != .line || fields["memo"] != nil else { return false }
      try transaction.insert(AnyRecord(id.type, id: id.id, fields, container: place))
    case .update:
      guard isHere, !fields.isEmpty else { return false }
      try transaction.update(id, fields: fields)
    case .delete: return try transaction.delete(id)
    case .move: return try isHere && transaction.move(id, to: place ?? id.type)
    case .saveOld:
      guard var old = held[id], isHere else { return false }
      for (field, value) in fields { old[field] = value }
      try transaction.save(old)
    }
    return true
  }
}
