public import BothyStore

/// One record's pending work: what the app did that the server has not acknowledged.
public struct OutboxEntry: Sendable, Hashable {
  /// Whose changes these are; a record has one entry at most.
  public var record: RecordID
  /// What is asked of the server, all changes taken together.
  public var kind: SyncOperation.Kind
  /// Rises with each local change, from a random number on; an acknowledgement clears the entry only at the revision that
  /// was sent.
  public var revision: Int64
  /// When the last local change was made, in server-corrected milliseconds.
  public var edited: Int64
  /// Whether that time can be relied on: not after a restart of the device, until it has heard the server's clock.
  public var isEditTimeReliable = true
  /// What the server last told of the record; nil when it is not known to have it.
  public var base: Base?
  /// Whether it is sent, held back or waits for a decision.
  public var state: State
  /// The number of times the server refused it.
  public var attempts: Int
  /// Not sent before this time, in milliseconds since 1970.
  public var retryAt: Int64
  /// Why the server refused it last; such entries are the inbox.
  public var reason: Rejection?
  /// The operation whose outcome is unknown, if one was sent.
  public var operationID: String?
  /// The revision that was sent.
  var sentRevision: Int64?
  /// What the server has now, where a pull has told of a version newer than the base.
  public var shadow: ServerRecord?
  /// The container that the server has the record in; nil for the type's own, and where it has none.
  public var container: String?
  /// Whether the record has left what this device follows: it goes from here once nothing of it is pending.
  public var isLeaving: Bool
  /// Whom to let in or shut out, where that is pending.
  public var sharing: SharingChange?
  /// The together-write that the changes belong to: entries with the same group are sent, accepted and decided
  /// about as one.
  public var group: String?
  /// The same for what was sent and is in doubt.
  var sentGroup: String?
  /// What the entry makes of the record, where that lies in the entry; nil where the row shows it.
  var awaited: Awaited?
  /// Whether the change waits on top of another of its record, and lies in `bothy_later`.
  var isLater = false

  /// The table that the change lies in.
  var table: String { isLater ? "bothy_later" : "bothy_outbox" }

  /// A change whose content lies in its entry: one that its caller waits for, or that has others on top of it.
  struct Awaited: Sendable, Hashable {
    /// What of the server's answer is written here. The raw values are those of the file.
    enum Keeping: Int64 {
      case here = 1
      case thereAlone = 2
      /// Nothing, and no row is left: the store has no cache.
      case uncached = 3
      /// What the next change on top of it says: the row shows the last of these.
      case beneath = 4
    }

    var keeping: Keeping
    /// The record with the change; empty for a deletion.
    var fields: FieldsDocument
    /// The container that the change has it in; nil for the type's own.
    var container: String?
  }

  /// Whether readers see the record without the change.
  var isHidden: Bool { awaited.map { $0.keeping != .beneath } ?? false }

  /// Whether other changes of the record wait on top of it.
  var isBeneath: Bool { awaited?.keeping == .beneath }

  /// Whether the change is of all fields of a record of which nothing is kept here: there is no base to compare with.
  var isWhole: Bool { awaited?.keeping == .uncached && kind == .insert && base == nil }

  /// The record as the server last told of it: moves with its answers, and never with a change made here.
  public struct Base: Sendable, Hashable {
    /// The server's stamp, which the operation is sent against.
    public var version: String
    /// What the changed fields are found by: those that differ from these.
    public var fields: FieldsDocument
    /// The container; nil when it is the one that the entry says.
    public var container: String?
    /// When it was made and edited, and by whom it was made, as far as that was told.
    public var metadata: RecordMetadata

    init(
      version: String, fields: FieldsDocument, container: String? = nil,
      metadata: RecordMetadata = RecordMetadata()
    ) {
      self.version = version
      self.fields = fields
      self.container = container
      self.metadata = metadata
    }

    init(_ record: ServerRecord) {
      self.init(
        version: record.version, fields: record.fields, container: record.container,
        metadata: record.metadata)
    }
  }

  /// Where the record was moved here, if `container` (nil: the type's own) is another than the server's.
  func destination(_ container: String?) -> String? {
    let own = container ?? record.type
    return base != nil && own != self.container ?? record.type ? own : nil
  }

  /// Whether an entry is sent. The raw values are those of the file.
  public enum State: Int, Sendable, Hashable, CaseIterable {
    /// To be sent at the next sync.
    case pending = 0
    /// Held back by the app: a draft.
    case held = 1
    /// Refused as often as the rejection policy allows; waits for a decision.
    case quarantined = 2
  }
}
