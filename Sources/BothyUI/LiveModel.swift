public import BothyStore
package import BothySync
public import Observation

/// The values of one request for a view, outside SwiftUI or in place of `@Live`.
///
/// ```swift
/// @MainActor final class TodosModel {
///   let todos = LiveModel<[Todo]>()
///
///   var titles: [String] { todos.value?.map(\.title) ?? [] }
///
///   /// Returns when its task is cancelled.
///   func run(_ store: SyncedStore) async { await todos.run(store.values(of: Todo.order(by: \.title))) }
/// }
/// ```
@MainActor @Observable
public final class LiveModel<Value: Sendable> {
  /// The current value, or `nil` until the first one is read. It stays when the observation ends, also after an error.
  public private(set) var value: Value?
  /// The error that ended the observation, or `nil`. A new observation begins with `nil`.
  public private(set) var error: (any Error)?
  /// True while the first value of the present request is being read.
  public private(set) var isLoading = false

  /// The request that the view gave last, and the one that is shown instead, if `load` gave one.
  @ObservationIgnored private var given: Source?
  @ObservationIgnored private var shown: Source?
  @ObservationIgnored private var task: Task<Void, Never>?

  /// Creates a model without a value. Reads nothing.
  public init() {}

  deinit { task?.cancel() }

  /// Observes values until the task is cancelled or the store is closed. Call it again to continue.
  ///
  /// One read of the request at once, and one after each commit that touches its types. Reads run outside the main
  /// thread. An error ends the observation and is in `error`, as this doesn't throw.
  public func run(_ values: LiveValues<Value>) async { await Self.follow(values) { self } }

  /// Observes a request in a task of the model's own. Does nothing if the model shows an equal request of the store already,
  /// or shows one that `load` gave in its place.
  package func show(_ request: some ReadRequest<Value>, of store: SyncedStore) {
    let source = Source(request, store)
    guard source != given else { return }
    given = source
    start(source, store.values(of: request))
  }

  /// Replaces the request that the model shows, until `show` gets another one. Returns after the first value.
  /// Throws in a cancelled task.
  package func load(_ request: some ReadRequest<Value>, of store: SyncedStore) async throws {
    let source = Source(request, store)
    stop()
    shown = source
    isLoading = true
    let values = store.values(of: request)
    do {
      let first = try await store.fetch(request)
      guard shown == source else { return }
      value = first
      start(source, values)
    } catch {
      if shown == source {
        // A caller that was cancelled has replaced the request all the same.
        if Task.isCancelled { start(source, values) } else { (self.error, isLoading) = (error, false) }
      }
      throw error
    }
  }

  /// Ends the observation with an error. The value stays. Does nothing if the observation has ended with one, because
  /// each change of the error has the view drawn again, which fails again.
  package func fail(_ error: any Error) {
    guard given != nil || self.error == nil else { return }
    stop()
    (given, shown, self.error, isLoading) = (nil, nil, error, false)
  }

  private func start(_ source: Source, _ values: LiveValues<Value>) {
    stop()
    shown = source
    // The model outlives its task, which must not keep it.
    task = Task { [weak self] in await Self.follow(values) { self } }
    isLoading = true
  }

  private func stop() {
    task?.cancel()
    task = nil
  }

  private static func follow(_ values: LiveValues<Value>, for model: @MainActor () -> LiveModel?) async {
    // Another call may have ended this one before it began.
    guard !Task.isCancelled else { return }
    model()?.error = nil
    model()?.isLoading = true
    do {
      for try await value in values {
        if Task.isCancelled { return }
        guard let model = model() else { return }
        model.value = value
        if model.isLoading { model.isLoading = false }
      }
    } catch {
      guard !Task.isCancelled else { return }
      model()?.error = error
    }
    if !Task.isCancelled { model()?.isLoading = false }
  }
}

/// A request and the store that it is read from.
private struct Source: Equatable {
  let request: ReadIdentity
  let store: ObjectIdentifier

  init(_ request: some ReadRequest, _ store: SyncedStore) {
    self.request = request.plan.identity
    self.store = ObjectIdentifier(store)
  }
}
