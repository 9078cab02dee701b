import BothyStore
public import struct Foundation.Date

extension Outbox {
  /// The pending changes of one record, which the server hasn't acknowledged.
  ///
  /// It is a value, read from the file. `Outbox.resolve(_:_:)` does nothing for one whose record was changed
  /// since.
  public struct Entry: Sendable, Hashable, Identifiable {
    /// The changed record. A record has one entry at most. If several transactions changed it, the entry is
    /// that of the first.
    public var id: RecordID
    /// The kind of operation that the server receives, all changes taken together.
    ///
    /// A record that was created and edited here before it was sent is an insert.
    public var change: ChangeKind
    /// The revision, which rises with each local change from a random number on. An acknowledgement deletes the entry
    /// only at the revision that was sent.
    package var revision: Int64
    /// The time of the last local change, in server-corrected milliseconds since 1970.
    package var editedTime: Int64
    /// True if that time is reliable. It isn't after a restart of the device, until the device has received the server's
    /// time.
    package var isEditTimeReliable = true
    /// The last version that the server reported, or `nil` if it isn't known to have the record.
    package var base: Base?
    /// The stage: pending, a draft, or quarantined until a decision.
    package var stage: Stage
    /// The number of times the server rejected it. It is 0 again after a new change of the record and after
    /// `.retry`.
    public var attempts: Int
    /// The time before which it isn't sent, in milliseconds since 1970.
    package var retryAt: Int64
    /// The reason of the last rejection, or `nil`. `outbox.rejected()` has the entries with one.
    package var reason: Rejection?
    /// The id of the operation that was sent and whose outcome is unknown, or `nil`.
    package var operationID: String?
    /// The revision that was sent, or `nil`.
    var sentRevision: Int64?
    /// The server's current version, if a pull has reported one that is newer than the base.
    package var remoteVersion: ServerRecord?
    /// The server's container of the record, or `nil` for the type's own and for a record that the server doesn't have.
    package var container: String?
    /// True if the record has left the scopes that this device pulls. It is evicted once none of its changes is pending.
    package var isLeaving: Bool
    /// The pending change of the audience, or `nil`.
    package var sharing: SharingChange?
    /// The transaction that the changes belong to. Entries with the same group are sent, accepted and decided about as
    /// one.
    package var group: String?
    /// Like `group`, but for changes that were sent and are in doubt.
    var sentGroup: String?
    /// The changed record if the entry stores it, or `nil` if the row shows it.
    var awaited: Awaited?
    /// The JSON of the values that the changes replaced, or `nil`.
    var former: [UInt8]?
    /// True if the change is stacked on another of its record, and stored in `bothy_later`.
    var isLater = false
    /// The state that the outbox found, with the other entries of the transaction, or `nil`.
    var found: RecordState?

    /// The state: pending, a draft, rejected and sent again later, quarantined, or blocked by another record
    /// that was written together with it.
    ///
    /// It is that of the time when the entry was read.
    public var state: RecordState { found ?? ownState }

    /// The time of the last local change, by the server's clock as far as its difference is known.
    public var edited: Date { Date(timeIntervalSince1970: Double(editedTime) / 1000) }

    /// The table that stores the change.
    var table: String { isLater ? "bothy_later" : "bothy_outbox" }

    /// A change whose content is stored in its entry. Its caller waits for it, or others are stacked on it.
    struct Awaited: Sendable, Hashable {
      /// The part of the server's answer that is written here. The raw values are those of the file.
      enum Keeping: Int64 {
        case here = 1
        case thereAlone = 2
        /// Nothing is written and no row remains, because the store has no cache.
        case uncached = 3
        /// The result of the next change on top of it is written. The row shows the last of these.
        case beneath = 4
      }

      var keeping: Keeping
      /// The record with the change; empty for a deletion.
      var fields: FieldsDocument
      /// The container that the change puts the record in, or `nil` for the type's own.
      var container: String?
    }

    /// True if readers see the record without the change.
    var isHidden: Bool { awaited.map { $0.keeping != .beneath } ?? false }

    /// True if other changes of the record are stacked on it.
    var isBeneath: Bool { awaited?.keeping == .beneath }

    /// True if the change has all fields of a record of which nothing is kept here, so that it has no base to compare
    /// with.
    var isWhole: Bool { awaited?.keeping == .uncached && change == .insert && base == nil }

    /// The record as the server last reported it. Changes with the server's answers, and never with a change made here.
    package struct Base: Sendable, Hashable {
      /// The server's version, which the operation is sent against.
      package var version: String
      /// The fields of the base. Fields of the record that differ from these are the changed ones.
      package var fields: FieldsDocument
      /// The container, or `nil` if it is that of the entry.
      package var container: String?
      /// The times of creation and of the last edit and the creator, as far as they were reported.
      package var metadata: RecordMetadata

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

    /// Returns the container that the record was moved to here, or `nil` if `container` is the server's. For `container`,
    /// `nil` is the type's own.
    func destination(_ container: String?) -> String? {
      let own = container ?? id.type
      return base != nil && own != self.container ?? id.type ? own : nil
    }

    /// The stage of an entry, which decides if it is sent. The raw values are those of the file.
    package enum Stage: Int, Sendable, Hashable, CaseIterable {
      /// Sent at the next sync.
      case pending = 0
      /// A draft, which the app holds back.
      case held = 1
      /// Rejected as often as the rejection policy allows. Waits for a decision.
      case quarantined = 2
    }
  }
}
