#if canImport(Observation)
  public import Observation

  /// An observation for a view: its current value, kept up to date while `run` runs.
  ///
  /// ```swift
  /// List(model.value ?? []) { … }.task { await model.run() }
  /// ```
  @MainActor @Observable
  public final class StoreQueryModel<Value: Sendable> {
    /// Nil until the first answer is there.
    public private(set) var value: Value?
    /// Why the observation ended, if it failed.
    public private(set) var error: (any Error)?
    private let observation: QueryObservation<Value>

    /// Reads nothing yet.
    public init(_ observation: QueryObservation<Value>) {
      self.observation = observation
    }

    /// Follows the observation until the task is cancelled or the store is closed. Run it again to go on.
    public func run() async {
      error = nil
      do {
        for try await answer in observation { value = answer }
      } catch {
        self.error = error
      }
    }
  }
#endif
