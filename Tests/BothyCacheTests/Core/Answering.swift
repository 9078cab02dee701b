import Synchronization

/// The status of a scripted server's responses, which a test sets.
final class Answering: Sendable {
  private let status: Atomic<Int>
  init(_ status: Int) { self.status = Atomic(status) }
  var value: Int {
    get { status.load(ordering: .acquiring) }
    set { status.store(newValue, ordering: .releasing) }
  }
}
