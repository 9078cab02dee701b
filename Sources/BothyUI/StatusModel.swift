public import BothySync
public import Observation

/// The sync status of a store for a view, outside SwiftUI or in place of `@LiveStatus`.
///
/// ```swift
/// @MainActor final class PendingModel {
///   let status = StatusModel()
///
///   var text: String { status.value.pendingCount == 0 ? "Everything is sent." : status.value.message ?? "Not sent yet." }
///
///   /// Returns when its task is cancelled.
///   func run(_ store: SyncedStore) async { await status.run(store) }
/// }
/// ```
@MainActor @Observable
public final class StatusModel {
  /// The current status. Stopped until the first one is read. It stays when the observation ends.
  public private(set) var value = SyncStatus()
  @ObservationIgnored private var store: ObjectIdentifier?
  @ObservationIgnored private var task: Task<Void, Never>?

  /// Creates a model with a stopped status. Reads nothing.
  public init() {}

  deinit { task?.cancel() }

  /// Observes the status until the task is cancelled or the store is closed.
  ///
  /// Costs a scan of the outbox at the beginning, and one after commits that change records. Starts no sync.
  public func run(_ store: SyncedStore) async {
    for await status in store.statuses { value = status }
  }

  /// Observes the status in a task of the model's own. Does nothing if the model shows this store's already.
  package func show(_ store: SyncedStore) {
    guard self.store != ObjectIdentifier(store) else { return }
    self.store = ObjectIdentifier(store)
    task?.cancel()
    let statuses = store.statuses
    task = Task { [weak self] in
      for await status in statuses {
        guard !Task.isCancelled, let self else { return }
        value = status
      }
    }
  }
}
