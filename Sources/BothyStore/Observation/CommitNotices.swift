import Dispatch
import GRDB
import Synchronization

/// The announcements of commits: one notice a transaction, for any number of observers.
///
/// `post` runs on the thread that wrote and does the same little work for one subscriber and for a thousand: it merges
/// the notice into the pending one and wakes the dispatcher. The dispatcher is a serial queue that has a thread only
/// while it has work. It marks the subscribers that are concerned, and reads the values for those that wait, all in one
/// read transaction. All observers therefore see the same moment, a hundred of them cost one snapshot, and none delays
/// the writer.
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
  /// Returns the errors of SQLite as those of the store.
  private let known: @Sendable (any Error) -> any Error
  private let signals: CommitSignals?
  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "bothy.notices")

  init(
    catalog: Catalog, connections: Connections, running: RunningTransactions,
    signals: CommitSignals?, known: @escaping @Sendable (any Error) -> any Error
  ) {
    self.catalog = catalog
    self.connections = connections
    self.running = running
    self.signals = signals
    self.known = known
  }

  /// Announces a commit of this store, in this process and to others.
  func post(_ touched: TouchedRecords) {
    announce(touched)
    signals?.announce()
  }

  /// Announces a commit of another store, which may have changed anything.
  func postForeignCommit() { announce(.everything(tableCount: catalog.tables.count)) }

  private func announce(_ touched: TouchedRecords) {
    let mustWake = state.withLock { state in
      guard !state.subscribers.isEmpty else { return false }
      if state.pending == nil { state.pending = touched } else { state.pending?.formUnion(touched) }
      return Self.schedule(&state)
    }
    if mustWake { wake() }
  }

  /// Makes the dispatcher check the subscribers again without a notice, because one of them waits for its first value.
  func request() {
    if state.withLock({ Self.schedule(&$0) }) { wake() }
  }

  /// Adds a subscriber and returns the number that removes it. Once closed, finishes the subscriber and returns nil.
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
        try connections.schemaCheck?.run(in: database)
        let transaction = ReadTransaction(database, catalog)
        transaction.answers = SharedAnswers()
        running.marking(transaction) {
          for subscriber in due {
            do { try subscriber.refresh(transaction) } catch { subscriber.fail(known(error)) }
          }
        }
      }
    } catch {
      let failure = known(error)
      for subscriber in due { subscriber.fail(failure) }
    }
  }

  /// Starts or stops watching other processes, which are watched only while a subscriber exists. The watch starts
  /// before the first read, so that it misses no commit between the two.
  private func watch(_ isWanted: Bool) {
    guard let signals else { return }
    if isWanted {
      signals.start { [weak self] in self?.postForeignCommit() }
    } else {
      signals.stop()
    }
  }
}

/// One subscription from the dispatcher's point of view.
package protocol CommitSubscriber: AnyObject, Sendable {
  /// Receives every notice, on the dispatcher.
  func notice(_ touched: TouchedRecords)
  /// True if a consumer waits for a value that may have changed.
  var isDue: Bool { get }
  /// Reads the value and delivers it if it differs from the last. Runs on the dispatcher.
  func refresh(_ transaction: ReadTransaction) throws
  /// Ends the sequence with an error.
  func fail(_ error: any Error)
  /// Ends the sequence.
  func finish()
}
