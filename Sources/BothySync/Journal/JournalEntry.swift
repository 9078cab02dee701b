public import BothyStore

/// One decision about a local write: its outcome, its cause, and the content that was lost.
///
/// It is written in the transaction that decides, and read from the file: also after a relaunch, and of other processes.
/// Sensitive fields are never in it.
///
/// ```swift
/// for entry in try store.journal.entries(losing: true) {
///   for field in entry.lostFields { show("\(field.name) was \(field.local), is \(field.now)") }
///   if entry.isRestorable { try await store.journal.restore(entry) }
/// }
/// ```
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
    case rejected = 5
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
    /// The server's history is another one. It has no such record to delete, or its state of the record counts.
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
    /// The value that it was given here, and lost. Null if it was cleared here.
    public var local: JSONValue
    /// The value that replaced it. Null if it was cleared, or if the record no longer exists.
    public var now: JSONValue
  }

  /// A number that rises with each decision. A reader that stores the last one it saw continues after it.
  package var number: Int64
  /// The record that was written. It may be deleted by now.
  public var record: RecordID
  /// The kind of the operation for the server: an insert, an update or a deletion.
  package var change: ChangeKind
  /// The decision of the server, or `nil` if the change was undone here before, or no answer came.
  ///
  /// ```swift
  /// for entry in try await store.journal.entries(for: booking) {
  ///   switch entry.verdict {
  ///   case .accepted: show("Booked.")
  ///   case .merged: show("Booked, with changes of others.")
  ///   case .replaced: show("Another booking was first.")
  ///   case .rejected(let rejection): show(rejection.message)
  ///   case nil: show("Undone here, or not answered yet.")
  ///   }
  /// }
  /// ```
  public var verdict: Verdict? { Verdict(outcome) }
  /// The outcome of the write.
  package var outcome: SaveOutcome
  /// The cause of the outcome.
  package var cause: Cause

  /// The name of the merge policy that decided, such as `remoteWins`, or `nil` if none did.
  ///
  /// A rule of the app's own has the name of its type.
  public var policy: String?
  /// True if nothing more follows. False for a rejected change that stays pending, and for a merge that isn't sent yet.
  package var isFinal: Bool
  /// The time of the decision, in server-corrected milliseconds.
  package var decided: Int64
  /// The local content that was replaced or undone, without sensitive fields. `nil` if nothing was lost, and for a
  /// deletion that was undone.
  package var lost: FieldsDocument?
  /// The fields of that content that were changed here and lost their value, by name. A field that has both sides'
  /// changes isn't among them, and neither is the default of a new record.
  public var lostFields: [LostField] = []
  /// The container that the record was put in here, if it is in another one now or no longer exists.
  package var lostContainer: String?
  /// True if the record no longer existed when this was decided.
  package var isGone = false
  /// The content that a deletion removed here, without sensitive fields, or `nil` if it isn't known. The deletion is made
  /// again of this content alone.
  var deleted: FieldsDocument?
  /// The time of the other side's write, in milliseconds since 1970, as far as the server reported it.
  package var replaced: Int64?
  /// The time at which this was restored, or `nil`.
  package var restored: Int64?
  /// The number of rejections so far, if this is one.
  var attempts = 0
  /// The time at which the change is sent again by itself, or `nil`.
  var retryAt: Int64?
  var revision: Int64?
  /// True if the row lists the fields that were lost.
  var listsFields = true
  /// True if the journal no longer has all of the transaction that the change was part of.
  package var isCut = false

  /// The number of the decision, which rises with each. A reader that stores the last one it saw continues after it.
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

  /// True if `DecisionJournal.restore` has content to restore, of an atomic transaction all of it.
  public var isRestorable: Bool {
    restored == nil && !isCut && (isUndoneDeletion || lost != nil && hasLostParts)
  }

  /// True if the decision took content, or undid a deletion. Rows of the first format don't list what they lost.
  var hasLost: Bool { isUndoneDeletion || lost != nil && (hasLostParts || !listsFields) }

  private var hasLostParts: Bool { isGone || !lostFields.isEmpty || lostContainer != nil }

  /// Returns the local record that was replaced, as a value, or `nil` if nothing was lost.
  ///
  /// Sensitive fields are empty. Throws `BothyError` `notRestorable` if the entry is of another type or its content no
  /// longer fits the type.
  package func lost<E: Entity>(as type: E.Type) throws -> E? {
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
      "The content of entry \(entry.number) of the journal does not fit the app's schema: \(reason) Read "
        + "`lostFields` of the entry, and save the values you need.", record: entry.record)
  }
}

/// A decision as JSON and as sentences, for tools that show it.
extension JournalEntry {
  /// The word for the outcome of the write.
  package var word: String {
    switch outcome {
    case .accepted: "accepted"
    case .merged: "merged"
    case .overwritten: "overwritten"
    case .rejected: "rejected"
    case .withdrawn: "withdrawn"
    case .pending, .draft, .expired, .unknown: "unknown"
    }
  }

  /// The cause, in a sentence.
  package var sentence: String {
    switch cause {
    case .acknowledged: "The server accepted it."
    case .agreed: "The server had the same already."
    case .merge: mergeSentence
    case .atomic: "It gave way with what it was written together with."
    case .rejectionPolicy: "The server rejected it, so it was undone."
    case .rejected: "The server rejected it. It waits with the rejected changes."
    case .reverted: "It was undone by a decision."
    case .keptLocal: "It was kept here and not sent, by a decision."
    case .evicted: "The record was removed from this device, by a decision."
    case .orphaned: "Another device had deleted what it refers to."
    case .takenBack: "It was deleted here before the server heard of it."
    case .purged: "It was purged."
    case .otherHistory: "The server has another history, and what it has of the record counts."
    case .unsendable: "Nothing was left of it to send."
    case .online: onlineSentence
    case .typeDropped: "The app no longer has the type."
    }
  }

  private var mergeSentence: String {
    if isUndoneDeletion { return "Another device had changed it, so the deletion was undone." }
    if isGone { return "Another device had deleted it." }
    let policy = policy.map { "the policy \($0)" } ?? "the merge policy"
    return "Another device had changed it too, and \(policy) decided."
  }

  private var onlineSentence: String {
    switch outcome {
    case .unknown: "No answer came; the server may have made it."
    case .withdrawn: "The server was asked at once, and has not made it."
    default: policy == nil ? "It was asked of the server at once." : mergeSentence
    }
  }
}
