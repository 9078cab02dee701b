import Dispatch
import GRDB
import Synchronization

/// Where commits are announced: one notice a transaction, whoever and however many observe.
///
/// `post` runs on the thread that wrote and does the same little work for one subscriber and for a thousand:
/// it merges the notice into the pending one and wakes the dispatcher. The dispatcher, a serial queue that has a
/// thread only while there is something to do, marks the subscribers that are concerned and reads the answers of
/// those that wait for one, all in one read transaction: observers see the same moment, a hundred of them cost
/// one snapshot, and none costs the writer anything.
final class CommitNotices: Sendable {
  private struct State {
    var pending: TouchedRecords?
    var subscribers: [UInt64: any CommitSubscriber] = [:]
    var nextID: UInt64 = 0
    var isScheduled = false
    var isClosed = false
  }

  let catalog: Catalog
  private let connections: Connections
  private let running: RunningTransactions
  private let path: String
  private let signals: CommitSignals?
  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "bothy.notices")

  init(
    catalog: Catalog, connections: Connections, running: RunningTransactions, path: String,
    signals: CommitSignals?
  ) {
    self.catalog = catalog
    self.connections = connections
    self.running = running
    self.path = path
    self.signals = signals
  }

  /// The number of living subscriptions.
  var subscriberCount: Int { state.withLock { $0.subscribers.count } }

  /// Announces a commit of this store, here and to other processes.
  func post(_ touched: TouchedRecords) {
    announce(touched)
    signals?.announce()
  }

  /// Announces a commit that another store made: anything may have changed.
  func postForeignCommit() { announce(.everything(tableCount: catalog.tables.count)) }

  private func announce(_ touched: TouchedRecords) {
    let mustWake = state.withLock { state in
      guard !state.subscribers.isEmpty else { return false }
      if state.pending == nil { state.pending = touched } else { state.pending?.formUnion(touched) }
      return Self.schedule(&state)
    }
    if mustWake { wake() }
  }

  /// Has the dispatcher look at the subscribers again, with no notice: one of them waits for its first answer.
  func request() {
    if state.withLock({ Self.schedule(&$0) }) { wake() }
  }

  /// Adds a subscriber and returns the number to remove it by; nil, with the subscriber finished, once closed.
  func add(_ subscriber: any CommitSubscriber) -> UInt64? {
    let id: UInt64? = state.withLock { state in
      guard !state.isClosed else { return nil }
      state.nextID += 1
      state.subscribers[state.nextID] = subscriber
      return state.nextID
    }
    if id == nil { subscriber.finish() }
    return id
  }

  func remove(_ id: UInt64) {
    let isLast = state.withLock { state in
      state.subscribers[id] = nil
      return state.subscribers.isEmpty && Self.schedule(&state)
    }
    if isLast { wake() }
  }

  /// Ends every observation and stops watching other processes.
  func close() {
    let subscribers = state.withLock { state in
      state.isClosed = true
      defer { state.subscribers = [:] }
      return state.subscribers
    }
    for subscriber in subscribers.values { subscriber.finish() }
    signals?.close()
  }

  private static func schedule(_ state: inout State) -> Bool {
    defer { state.isScheduled = true }
    return !state.isScheduled
  }

  private func wake() {
    queue.async { self.dispatch() }
  }

  private func dispatch() {
    let (touched, subscribers) = state.withLock { state in
      defer {
        state.pending = nil
        state.isScheduled = false
      }
      return (state.pending, state.subscribers)
    }
    watch(!subscribers.isEmpty)
    if let touched {
      for subscriber in subscribers.values { subscriber.notice(touched) }
    }
    let due = subscribers.values.filter(\.isDue)
    guard !due.isEmpty else { return }
    do {
      try connections.writer.read { database in
        let transaction = ReadTransaction(database, catalog)
        running.marking(transaction) {
          for subscriber in due { subscriber.refresh(transaction) }
        }
      }
    } catch {
      let failure = StoreError(error, path: path)
      for subscriber in due { subscriber.fail(failure) }
    }
  }

  /// Other processes are watched only while somebody here wants to know. Starting comes before the first read,
  /// so a commit between the two is not missed.
  private func watch(_ isWanted: Bool) {
    guard let signals else { return }
    if isWanted {
      signals.start { [weak self] in self?.postForeignCommit() }
    } else {
      signals.stop()
    }
  }
}

/// One subscription as the dispatcher sees it.
package protocol CommitSubscriber: AnyObject, Sendable {
  /// Told of every notice, on the dispatcher.
  func notice(_ touched: TouchedRecords)
  /// Whether someone waits for an answer that may have changed.
  var isDue: Bool { get }
  /// Reads the answer and hands it over if it differs from the last; on the dispatcher.
  func refresh(_ transaction: ReadTransaction)
  /// Ends the sequence with an error.
  func fail(_ error: any Error)
  /// Ends the sequence.
  func finish()
}
