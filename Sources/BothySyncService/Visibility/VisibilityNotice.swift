public import BothyStore

/// A notice that a user may have gained or lost the right to see a record, without a change of the record itself.
/// Causes are a new member of a list, or a name removed from its audience.
///
/// The answer is decided when the user pulls: the record if the user may see it then, or else that it is out of scope.
/// A storage keeps the last notice for each user and record.
public struct VisibilityNotice: Sendable, Hashable {
  /// The position, from the counter of changes.
  public var position: Int64
  /// The user to notify.
  public var user: String
  /// The record that may have become visible or hidden.
  public var record: RecordID

  /// The record in notices about every record whose readers are its audience, in place of too many single ones. No
  /// record has this id.
  package static let everyShared = RecordID(type: "", id: "")

  /// Makes a notice, for the server and its storage.
  public init(position: Int64, user: String, record: RecordID) {
    self.position = position
    self.user = user
    self.record = record
  }
}
