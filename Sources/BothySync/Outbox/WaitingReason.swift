import BothyStore

/// The reason why the next sync may not send a pending entry, as far as the file shows. Doesn't consider the network.
package enum WaitingReason: Sendable, Hashable {
  /// The app holds it back as a draft.
  case draft
  /// The server rejected it as often as the policy allows, and it waits for a decision.
  case decision
  /// The server rejected it, and it is sent again from this time on, in milliseconds since 1970.
  case retry(at: Int64)
  /// The server rejected another record that was written together with it.
  case atomic(RecordID)
  /// It was sent, and the answer was lost. It is sent again under the same id.
  case answer
  /// The server lacks a record that it refers to, and that record can't be sent yet.
  case reference(RecordID)
  /// The number of blobs that it names and the server lacks. They are sent before it.
  case blobs(Int)
  /// Nothing blocks it.
  case nextSync

  /// The word for documents.
  package var name: String {
    switch self {
    case .draft: "draft"
    case .decision: "decision"
    case .retry: "retry"
    case .atomic: "together"
    case .answer: "answer"
    case .reference: "reference"
    case .blobs: "blobs"
    case .nextSync: "nextSync"
    }
  }

  /// True if it waits only for a successful sync.
  package var isForSync: Bool {
    switch self {
    case .nextSync, .answer, .blobs: true
    case .draft, .decision, .retry, .atomic, .reference: false
    }
  }

  /// The record that it waits for, or `nil`.
  package var record: RecordID? {
    switch self {
    case .atomic(let record), .reference(let record): record
    default: nil
    }
  }
}
