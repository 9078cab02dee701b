public import BothyStore

/// One decision about a local write: what became of it, why, and the content that it lost.
public struct JournalEntry: Sendable, Hashable, Identifiable {
  /// Why a write ended as it did. The raw values are those of the file.
  public enum Cause: Int64, Sendable, Hashable, CaseIterable {
    /// The server took it.
    case acknowledged = 0
    /// The server had the same already.
    case agreed = 1
    /// Others had changed the record too, and the merge policy decided.
    case merge = 2
    /// A record that was written together with it gave way.
    case together = 3
    /// The server refused it, and the rejection policy undid it.
    case rejectionPolicy = 4
    /// The server refused it, or the merge policy failed; it is still pending.
    case refused = 5
    /// A person or the app undid it (`Resolution.revert`).
    case reverted = 6
    /// A person or the app kept it here and stopped sending it (`Resolution.acceptLocal`).
    case keptLocal = 7
    /// A person or the app removed the record from this device (`Resolution.evict`).
    case evicted = 8
    /// Others deleted the record that it refers to.
    case orphaned = 9
    /// What had been made here was deleted here before the server heard of it.
    case takenBack = 10
    /// The record was purged with what was pending of it, or written together with one that was.
    case purged = 11
    /// The server's history that was adopted has no such record to delete.
    case otherHistory = 12
    /// Nothing was left of the record to send.
    case unsendable = 13
    /// A save that asked the server first was answered.
    case online = 14
    /// The app's schema has the type no more.
    case typeDropped = 15

    /// The word for tools.
    public var name: String { "\(self)" }
  }

  /// One field whose local value was replaced.
  public struct LostField: Sendable, Hashable {
    /// The field's name.
    public var name: String
    /// Its value before it was changed here; null also where the server did not know the record.
    public var base: JSONValue
    /// The value that it was given here, and lost.
    public var local: JSONValue
    /// The value that replaced it; null where it was cleared, and where the record is gone.
    public var now: JSONValue

    package init(name: String, base: JSONValue, local: JSONValue, now: JSONValue) {
      self.name = name
      self.base = base
      self.local = local
      self.now = now
    }
  }

  /// Rises with each decision: a reader that keeps the last one it saw goes on behind it.
  public var number: Int64
  /// What was written.
  public var record: RecordID
  /// What was asked of the server.
  public var change: SyncOperation.Kind
  /// What became of it.
  public var outcome: SaveOutcome
  /// Why.
  public var cause: Cause
  /// Whether nothing more is to come: false of a refusal that waits in the inbox, and of a merge that is yet to be sent.
  public var isFinal: Bool
  /// When that was decided, in server-corrected milliseconds.
  public var decided: Int64
  /// The local content that was replaced or undone, without sensitive fields; nil when nothing was lost, and for a
  /// deletion that was undone.
  public var lost: FieldsDocument?
  /// The fields of it that were changed here and have another value now, by name.
  public var lostFields: [LostField] = []
  /// The container that the record had been put in here, where it is in another one now or gone.
  public var lostContainer: String?
  /// Whether the record was gone when this was decided.
  public var isGone = false
  /// When the other side was written, as far as the server told, in milliseconds since 1970.
  public var replaced: Int64?
  /// When this was restored; nil when it was not.
  public var restored: Int64?
  /// The number of refusals so far, where it is one.
  var attempts = 0
  /// When it is sent again by itself.
  var retryAt: Int64?
  var revision: Int64?

  public var id: Int64 { number }

  /// Whether a deletion made here was undone.
  public var isUndoneDeletion: Bool {
    guard change == .delete, lost == nil else { return false }
    switch outcome {
    case .overwritten: return true
    case .rejected: return isFinal && cause != .keptLocal
    case .withdrawn: return cause == .reverted || cause == .evicted || cause == .purged
    default: return false
    }
  }

  /// Whether `DecisionJournal.restore` has something to bring back.
  public var isRestorable: Bool {
    guard restored == nil else { return false }
    if isUndoneDeletion { return true }
    return lost != nil && (isGone || !lostFields.isEmpty || lostContainer != nil)
  }

  /// The local record that was replaced, as a value; nil when nothing was lost.
  ///
  /// Sensitive fields are empty. Throws `SyncError` `.notRestorable` when the entry is of another type or its content
  /// does not fit the type any more.
  public func lost<E: Entity>(as type: E.Type) throws -> E? {
    guard let lost else { return nil }
    guard record.type == E.typeName else {
      throw SyncError(
        .notRestorable,
        "Entry \(number) of the journal is about a \(record.type) and no \(E.typeName). Read it as its own type.",
        record: record)
    }
    return try JournalContent(self, E.schema).record(lost).entity(type)
  }
}

/// The content of an entry, read by a schema that may be another than the one it was written with.
struct JournalContent {
  let entry: JournalEntry
  let schema: TypeSchema

  init(_ entry: JournalEntry, _ schema: TypeSchema) {
    self.entry = entry
    self.schema = schema
  }

  /// The value of a field. Throws where the schema has no such field, or one of another kind.
  func value(_ value: JSONValue, of name: String) throws -> FieldValue {
    guard let field = schema[name] else { throw misfit("\(schema.name) has no field '\(name)' any more.") }
    if value.isNull { return .null }
    do { return try FieldValue(json: value, kind: field.kind) } catch {
      throw misfit("\(schema.name).\(name) is of another kind now.")
    }
  }

  /// The whole record, what this schema does not know of it included.
  func record(_ document: FieldsDocument) throws -> AnyRecord {
    var record = AnyRecord(schema.name, id: entry.record.id, container: entry.lostContainer)
    var unknown: [String: JSONValue] = [:]
    for (name, value) in try document.members() {
      if schema[name] == nil { unknown[name] = value } else { record[name] = try self.value(value, of: name) }
    }
    for field in schema.fields where !field.isOptional && !field.isSensitive && record[field.name].isNull {
      guard let value = field.defaultValue else {
        throw misfit("\(schema.name).\(field.name) is required now, and the content has none.")
      }
      record[field.name] = value
    }
    record.unknownFields = unknown.isEmpty ? nil : JSONValue.object(unknown).canonicalText
    return record
  }

  private func misfit(_ reason: String) -> SyncError {
    SyncError(
      .notRestorable,
      "The content of entry \(entry.number) of the journal does not fit the app's schema: \(reason) Take what is "
        + "needed from `JournalEntry.lost`, and save that.", record: entry.record)
  }
}
