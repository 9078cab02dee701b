import BothyStore
public import Synchronization

/// The state that `SharedSettings` and the store's notifications share: the snapshot for readers, the chain of changes,
/// and the listeners.
///
/// `SettingsCore+Commit.swift` has the commits. Reading is inlinable, because generic code takes several times as long
/// as code that is specialized for one group.
@usableFromInline
final class SettingsCore<Group: SettingsGroup>: Sendable {
  /// The value that readers receive. It is immutable, so a reader holds the lock only while it copies one reference.
  @usableFromInline
  final class Snapshot: Sendable {
    let number: Int
    @usableFromInline let value: Group
    let problem: (any Error)?

    init(_ number: Int, _ value: Group, _ problem: (any Error)? = nil) {
      self.number = number
      self.value = value
      self.problem = problem
    }
  }

  private struct Telling {
    var chain: ChangeChain<Group>
    var listeners: [Int: AsyncStream<SettingsChange<Group>>.Continuation] = [:]
    var nextListener = 0
  }

  private struct Watch {
    let store: LocalStore
    let id: UInt64
  }

  let home: SettingsContainer
  let shape: GroupLayout
  /// The keeper for the store that was used last.
  private let keeper = Mutex<(store: LocalStore, keeper: SettingsStorage)?>(nil)
  @usableFromInline let snapshot = Mutex<Snapshot?>(nil)
  private let telling: Mutex<Telling>
  private let watch = Mutex<Watch?>(nil)
  /// True if the store has to be read again.
  private let isStale = Mutex(true)
  /// The chain's `storedNumber` at the last notice of a commit, or at the subscription. The read that follows begins later.
  private let numberAtNotice = Mutex<Int?>(nil)
  /// True while the store reports its commits, which ends when it is closed.
  private let isFollowing = Mutex(false)

  init(_ home: SettingsContainer) {
    self.home = home
    shape = GroupLayout(Group.self)
    telling = Mutex(Telling(chain: ChangeChain(shape)))
  }

  /// Returns the keeper of the group in a store. Throws as `SettingsStorage.init` does.
  func keeper(in store: LocalStore) throws -> SettingsStorage {
    let (found, isReopened) = try keeper.withLock { kept -> (SettingsStorage, Bool) in
      if let kept, kept.store === store { return (kept.keeper, false) }
      let found = try SettingsStorage(shape, in: store.schema)
      let isReopened = kept != nil
      kept = (store, found)
      return (found, isReopened)
    }
    if isReopened { withChain { $0.beginFile() } }
    return found
  }

  // MARK: reading

  @inlinable var current: Group {
    if let snapshot = snapshot.withLock({ $0 }) { return snapshot.value }
    return first()
  }

  var problem: (any Error)? {
    if snapshot.withLock({ $0 }) == nil { _ = first() }
    return snapshot.withLock { $0 }?.problem
  }

  /// Performs the first read. A failure is stored, so that readers don't access the disk again and again.
  @usableFromInline
  func first() -> Group {
    do { return try load() } catch {
      report(error)
      return snapshot.withLock { $0 }?.value ?? Group()
    }
  }

  func load() throws -> Group {
    try home.register(Group.self)
    return try home.withStore { try load(from: $0) }
  }

  private func load(from store: LocalStore) throws -> Group {
    let keeper = try keeper(in: store)
    if let transaction = store.runningWrite {
      // The group in the caller's transaction isn't durable yet, so it isn't kept.
      return try Group(values: keeper.settle(transaction).values)
    }
    let (number, stored) = withChain { ($0.number, $0.storedNumber) }
    var state = try store.read { try keeper.read($0) }
    if state == nil { state = try store.write { try keeper.settle($0) } }
    guard let state else { return Group() }
    let value = try Group(values: state.values)
    see(state, value, isInWrite: false, since: number, stored: stored)
    follow(store)
    return current
  }

  // MARK: what the chain makes of what was stored

  func withChain<Result>(_ body: (inout ChangeChain<Group>) throws -> Result) rethrows -> Result {
    try telling.withLock { telling in
      let result = try body(&telling.chain)
      let due = telling.chain.takeDue()
      // Under the lock, so that all listeners hear of the changes in one order; yielding runs no code of theirs.
      for change in due { for listener in telling.listeners.values { listener.yield(change) } }
      return result
    }
  }

  /// Adds a state that was read, and publishes it to readers. The parameters are those of `ChangeChain.see`.
  func see(
    _ state: SettingsState, _ value: Group, isInWrite: Bool, since number: Int? = nil, stored: Int? = nil
  ) {
    // Published before listeners are notified, so a reader never sees an older value than a listener received.
    telling.withLock { telling in
      let link = telling.chain.see(state, value, isInWrite: isInWrite, since: number, stored: stored)
      if let link { publish(link.number, link.value) }
    }
    withChain { _ in }
  }

  func publish(_ number: Int, _ value: Group) {
    let new = Snapshot(number, value)
    snapshot.withLock { snapshot in
      if snapshot.map({ $0.number <= number }) ?? true { snapshot = new }
    }
  }

  /// Forgets a state that the file doesn't have, because the write that stored it failed. The next read finds what it has.
  func forget() {
    withChain { $0.forget() }
    snapshot.withLock { $0 = nil }
  }

  /// Stores the error. Readers keep the value that they have.
  private func report(_ error: any Error) {
    snapshot.withLock { snapshot in
      snapshot = Snapshot(snapshot?.number ?? 0, snapshot?.value ?? Group(), error)
    }
  }

  // MARK: following the store

  /// Subscribes to the commits of the store and of other processes.
  func follow(_ store: LocalStore) {
    watch.withLock { watch in
      guard watch?.store !== store else { return }
      if let watch { watch.store.unsubscribe(watch.id) }
      // The first look begins later, so what it finds is newer even if the row was removed and made again meanwhile.
      let stored = withChain { $0.storedNumber }
      numberAtNotice.withLock { $0 = stored }
      isStale.withLock { $0 = true }
      isFollowing.withLock { $0 = true }
      watch = store.subscribe(self).map { Watch(store: store, id: $0) }
    }
  }

  func changes() -> AsyncStream<SettingsChange<Group>> {
    // Opens the file at first, and again after the container was closed.
    if !isFollowing.withLock({ $0 }) { _ = first() }
    return AsyncStream { continuation in
      let id = telling.withLock { telling in
        telling.nextListener += 1
        telling.listeners[telling.nextListener] = continuation
        return telling.nextListener
      }
      continuation.onTermination = { [weak self] _ in
        self?.telling.withLock { _ = $0.listeners.removeValue(forKey: id) }
      }
    }
  }

  func stop() {
    let watch = watch.withLock { watch in
      defer { watch = nil }
      return watch
    }
    if let watch { watch.store.unsubscribe(watch.id) }
    finish()
  }
}

extension SettingsCore: CommitSubscriber {
  func notice(_ touched: TouchedRecords) {
    let record = RecordID(type: shape.name, id: SettingsStorage.recordID)
    let isRecord = watch.withLock { $0 }?.store.touches(touched, record) ?? false
    guard touched.settings || isRecord else { return }
    let stored = withChain { $0.storedNumber }
    numberAtNotice.withLock { $0 = stored }
    isStale.withLock { $0 = true }
  }

  var isDue: Bool { isStale.withLock { $0 } }

  /// Reads one or two rows by primary key. If that fails, `problem` has the error and readers keep their value.
  func refresh(_ transaction: ReadTransaction) {
    isStale.withLock { $0 = false }
    let stored = numberAtNotice.withLock { number in
      defer { number = nil }
      return number
    }
    guard let store = watch.withLock({ $0 })?.store else { return }
    do {
      let keeper = try keeper(in: store)
      guard let state = try keeper.read(transaction) else { return }
      see(state, try Group(values: state.values), isInWrite: false, stored: stored)
    } catch {
      report(error)
    }
  }

  func fail(_ error: any Error) {
    // Another store of the app has converted the file.
    if let store = watch.withLock({ $0 })?.store, (error as? BothyError)?.code == .newerFile,
      home.forget(store)
    {
      _ = first()
    } else {
      report(error)
    }
  }

  func finish() {
    isFollowing.withLock { $0 = false }
    let listeners = telling.withLock { telling in
      defer { telling.listeners = [:] }
      return Array(telling.listeners.values)
    }
    for listener in listeners { listener.finish() }
  }
}
