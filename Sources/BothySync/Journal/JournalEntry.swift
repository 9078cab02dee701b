public import BothyStore

/// One decision about a local write: its outcome, its cause, and the content that was lost.
public struct JournalEntry: Sendable, Hashable, Identifiable {
  /// The cause of a write's outcome. The raw values are those of the file.
  package enum Cause: Int64, Sendable, Hashable, CaseIterable {
    /// The server accepted it.
    case acknowledged = 0
    /// The server already had this content.
    case agreed = 1
    /// Others had changed the record too, and the merge policy decided.
    case merge = 2
    /// A record that was written together with it gave way.
    case atomic = 3
    /// The server rejected it, and the rejection policy undid it.
    case rejectionPolicy = 4
    /// The server rejected it, or the merge policy failed. It is still pending.
    case refused = 5
    /// A person or the app undid it (`Outbox.Decision.revert`).
    case reverted = 6
    /// A person or the app kept it here and stopped sending it (`Outbox.Decision.keepLocal`).
    case keptLocal = 7
    /// A person or the app removed the record from this device (`Outbox.Decision.removeLocal`).
    case evicted = 8
    /// Others deleted the record that it refers to.
    case orphaned = 9
    /// A change that was made here was taken back by a deletion before the server received it.
    case takenBack = 10
    /// The record was purged with what was pending of it, or written together with one that was.
    case purged = 11
    /// The server's history that was adopted has no such record to delete.
    case otherHistory = 12
    /// Nothing was left of the record to send.
    case unsendable = 13
    /// A save that was sent to the server first was answered.
    case online = 14
    /// The app's schema no longer has the type.
    case typeDropped = 15

    /// The word for tools.
    package var name: String { "\(self)" }
  }

  /// One field whose local value was replaced.
  public struct LostField: Sendable, Hashable {
    /// The field's name.
    public var name: String
    /// Its value before it was changed here. Null also if the server didn't know the record.
    package var base: JSONValue
    /// The value that it was given here, and lost.
    public var local: JSONValue
    /// The value that replaced it. Null if it was cleared, or if the record no longer exists.
    public var now: JSONValue

    package init(name: String, base: JSONValue, local: JSONValue, now: JSONValue) {
      self.name = name
      self.base = base
      self.local = local
      self.now = now
    }
  }

  /// A number that rises with each decision. A reader that stores the last one it saw continues after it.
  public var number: Int64
  /// The record that was written.
  public var record: RecordID
  /// The kind of the operation for the server: an insert, an update or a deletion.
  package var change: ChangeKind
  /// What the server decided, or `nil` if the change was undone here before.
  public var verdict: Verdict? { Verdict(outcome) }
  /// The outcome of the write.
  package var outcome: SaveOutcome
  /// The cause of the outcome.
  package var cause: Cause
  /// The name of the cause: `acknowledged`, `agreed`, `merge`, `atomic`, `rejectionPolicy`, `refused`, `reverted`,
  /// `keptLocal`, `evicted`, `orphaned`, `takenBack`, `purged`, `otherHistory`, `unsendable`, `online` or `typeDropped`.
  public var causeName: String { cause.name }
  /// The name of the merge policy that decided, such as `remoteWins`, or `nil` if none did.
  public var policy: String?
  /// True if nothing more follows. False for a rejection that waits in the inbox, and for a merge that isn't sent yet.
  package var isFinal: Bool
  /// The time of the decision, in server-corrected milliseconds.
  package var decided: Int64
  /// The local content that was replaced or undone, without sensitive fields. `nil` if nothing was lost, and for a
  /// deletion that was undone.
  package var lost: FieldsDocument?
  /// The fields of that content that were changed here and have another value now, by name.
  public var lostFields: [LostField] = []
  /// The container that the record was put in here, if it is in another one now or no longer exists.
  package var lostContainer: String?
  /// True if the record no longer existed when this was decided.
  package var isGone = false
  /// The time of the other side's write, in milliseconds since 1970, as far as the server reported it.
  package var replaced: Int64?
  /// The time at which this was restored, or `nil`.
  package var restored: Int64?
  /// The number of rejections so far, if this is one.
  var attempts = 0
  /// The time at which the change is sent again by itself, or `nil`.
  var retryAt: Int64?
  var revision: Int64?

  public var id: Int64 { number }

  /// True if a deletion made here was undone.
  package var isUndoneDeletion: Bool {
    guard change == .delete, lost == nil else { return false }
    switch outcome {
    case .overwritten: return true
    case .rejected: return isFinal && cause != .keptLocal
    case .withdrawn: return cause == .reverted || cause == .evicted || cause == .purged
    default: return false
    }
  }

  /// True if `DecisionJournal.restore` has content to restore.
  public var isRestorable: Bool {
    guard restored == nil else { return false }
    if isUndoneDeletion { return true }
    return lost != nil && (isGone || !lostFields.isEmpty || lostContainer != nil)
  }

  /// Returns the local record that was replaced, as a value, or `nil` if nothing was lost.
  ///
  /// Sensitive fields are empty. Throws `BothyError` `notRestorable` if the entry is of another type or its content no
  /// longer fits the type.
  public func lost<E: Entity>(as type: E.Type) throws -> E? {
    guard let lost else { return nil }
    guard record.type == E.typeName else {
      throw BothyError(
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

  /// Returns the value of a field. Throws if the schema doesn't have the field, or has one of another kind.
  func value(_ value: JSONValue, of name: String) throws -> FieldValue {
    guard let field = schema[name] else { throw misfit("\(schema.name) no longer has a field '\(name)'.") }
    if value.isNull { return .null }
    do { return try FieldValue(json: value, kind: field.kind) } catch {
      throw misfit("\(schema.name).\(name) is of another kind now.")
    }
  }

  /// Returns the whole record, with the members that this schema doesn't know.
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

  private func misfit(_ reason: String) -> BothyError {
    BothyError(
      .notRestorable,
      "The content of entry \(entry.number) of the journal does not fit the app's schema: \(reason) Take the "
        + "content needed from `JournalEntry.lost`, and save that.", record: entry.record)
  }
}
