import Synchronization

/// Where commits are announced: one notice a transaction, handed to whoever subscribed.
///
/// `post` runs on the writer's thread and must cost next to nothing whatever the number of observers.
final class CommitNotices: Sendable {
  func post(_ touched: TouchedRecords) {}
}
