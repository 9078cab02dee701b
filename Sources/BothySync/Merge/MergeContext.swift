import BothyStore

// The question to a merge policy, with its answer.

/// The input of a merge policy.
package struct MergeContext: Sendable {
  /// The record in conflict.
  package var record: RecordID
  /// The kind of the pending change: an insert, an update or a deletion.
  package var operation: ChangeKind
  /// The local record, or `nil` if it was deleted here.
  package var client: [String: JSONValue]?
  /// The record as it was when it was deleted here, or `nil` if it wasn't.
  package var deleted: [String: JSONValue]?
  /// The fields that the server last reported before the local change, or `nil` for a record created here.
  package var base: [String: JSONValue]?
  /// The server's present record: a tombstone if it was deleted there, and `nil` if the server never had it.
  package var server: ServerRecord?
  /// The fields of `server`, or `nil` if the record was deleted there or never existed.
  package var serverFields: [String: JSONValue]?
  /// The time of the local change, in server-corrected milliseconds.
  package var edited: Int64
  /// False if the device was restarted before the edit and hadn't received the server's time since.
  package var isEditTimeReliable = true
  /// True if the record was changed together with others. Then `.server` applies to all of them.
  package var isTogether = false
  /// The declared type, if this schema knows it.
  package var schema: TypeSchema?
  /// The table of the type.
  var table: TypeTable?
  /// The local container of the record, or `nil` if it was deleted here.
  package var container: String?
  /// The container that the server last reported.
  var baseContainer: String
  /// True if the caller of the save waits for the server's verdict, and readers see the record without the change.
  var isAwaited = false

  /// The server's fields with the local change on top, or `nil` if both sides changed the same field.
  var disjoint: [String: JSONValue]? {
    guard operation == .update, let base, let client, var merged = serverFields, !isMovedByBoth else {
      return nil
    }
    for name in Set(client.keys).union(base.keys) where client[name] != base[name] {
      // Both sides made the same change. Equal numbers may be two counts.
      if merged[name] == client[name], schema?[name]?.merge != .counter { continue }
      guard merged[name] == base[name] else { return nil }
      merged[name] = client[name]
    }
    return merged
  }

  /// True if the record was moved here and on the server, to different containers.
  var isMovedByBoth: Bool {
    guard let here = container, let there = server?.container, here != there else { return false }
    return here != baseContainer && there != baseContainer
  }
}

/// The decision of a merge policy.
package enum MergeDecision: Sendable, Hashable {
  /// The local state stays and is sent, against the server's present version.
  case client
  /// The server's state replaces the local one, which the journal has then.
  case server
  /// These fields replace the whole record. Those that differ from the server's are sent.
  case merged([String: JSONValue])
}
