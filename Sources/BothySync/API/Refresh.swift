import BothyStore

/// The result of a refresh.
package struct Refresh: Sendable, Hashable {
  /// The records that were made or changed on the server, in its order. Those with pending work are named only.
  package var changed: [RecordID] = []
  /// The records that were deleted on the server, left the container, or may no longer be seen.
  package var removed: [RecordID] = []
  /// The token of the next refresh.
  package var token: String
  /// True if the server could not continue from the token and sent everything again; deletions since are not among it.
  package var startedOver = false
}
