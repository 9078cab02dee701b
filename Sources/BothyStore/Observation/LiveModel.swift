#if canImport(Observation)
  public import Observation

  /// An observation for a view: its current value, updated while `run` runs.
  ///
  /// ```swift
  /// List(model.value ?? []) { … }.task { await model.run() }
  /// ```
  @MainActor @Observable
  public final class LiveModel<Value: Sendable> {
    /// The current value, or nil until the first one is read.
    public private(set) var value: Value?
    /// The error that ended the observation, or nil.
    public private(set) var error: (any Error)?
    private let observation: LiveValues<Value>

    /// Creates a model. Reads nothing yet.
    public init(_ observation: LiveValues<Value>) {
      self.observation = observation
    }

    /// Updates the value until the task is cancelled or the store is closed. Call it again to continue.
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
