import Synchronization

/// The status that a scripted server answers with, as a test sets it.
final class Answering: Sendable {
  private let status: Atomic<Int>
  init(_ status: Int) { self.status = Atomic(status) }
  var value: Int {
    get { status.load(ordering: .acquiring) }
    set { status.store(newValue, ordering: .releasing) }
  }
}
