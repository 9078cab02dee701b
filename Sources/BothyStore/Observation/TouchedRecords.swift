/// The records that a transaction touched: ids up to a limit for each type, then the whole type.
///
/// Inserting costs a few nanoseconds once the limit is reached, so bulk writes don't pay for observers.
package struct TouchedRecords: Sendable {
  /// The number of ids of one type beyond which an observer reads again anyway.
  static let limit = 128

  enum Entry: Sendable {
    case none
    case some([String])
    case all
  }

  private(set) var entries: [Entry]
  /// The fields of each type that any of the touched records differs in.
  private var fields: [FieldSet]
  /// True if settings stored in the file changed.
  package var settings = false
  /// True if data beside the records changed that other processes must know of: a decision about pending changes.
  var bookkeeping = false

  init(tableCount: Int) {
    entries = Array(repeating: .none, count: tableCount)
    fields = Array(repeating: [], count: tableCount)
  }

  /// Returns every record of every type, the effect of another process's commit.
  static func everything(tableCount: Int) -> TouchedRecords {
    var touched = TouchedRecords(tableCount: tableCount)
    touched.entries = Array(repeating: .all, count: tableCount)
    touched.fields = Array(repeating: .all, count: tableCount)
    touched.settings = true
    return touched
  }

  var isEmpty: Bool { !settings && !bookkeeping && !hasRecords }

  var hasRecords: Bool {
    !entries.allSatisfy { if case .none = $0 { true } else { false } }
  }

  mutating func insert(_ table: Int, _ id: String, _ changed: FieldSet = .all) {
    fields[table].formUnion(changed)
    switch entries[table] {
    case .all: return
    case .none: entries[table] = .some([id])
    case .some(var ids):
      entries[table] = .none
      ids.append(id)
      entries[table] = ids.count > Self.limit ? .all : .some(ids)
    }
  }

  func touches(_ table: Int) -> Bool {
    if case .none = entries[table] { false } else { true }
  }

  /// True if a record of the table was inserted or deleted, or differs in one of the fields.
  func touches(_ table: Int, in read: FieldSet) -> Bool { !fields[table].isDisjoint(with: read) }

  func touches(_ table: Int, _ id: String) -> Bool {
    switch entries[table] {
    case .none: false
    case .all: true
    case .some(let ids): ids.contains(id)
    }
  }

  mutating func formUnion(_ other: TouchedRecords) {
    settings = settings || other.settings
    bookkeeping = bookkeeping || other.bookkeeping
    for (table, entry) in other.entries.enumerated() {
      fields[table].formUnion(other.fields[table])
      switch (entries[table], entry) {
      case (_, .none), (.all, _): continue
      case (_, .all): entries[table] = .all
      case (_, .some(let ids)): for id in ids { insert(table, id, other.fields[table]) }
      }
    }
  }
}
