#if canImport(Observation)
  public import Observation

  /// A group for a view: its current value, kept up to date while `run` runs.
  ///
  /// ```swift
  /// Text(model.value.timeFormat).task { await model.run() }
  /// ```
  @MainActor @Observable
  public final class SettingsModel<Group: SettingsGroup> {
    /// The group as the view shows it: read when the model is made, renewed by `run` and `commit`.
    public private(set) var value: Group
    /// Why the last change through the model was refused; nil after one that was not.
    public private(set) var error: (any Error)?
    @ObservationIgnored private let settings: SharedSettings<Group>

    /// Reads the group, which is I/O if nobody has read it yet.
    public init(_ settings: SharedSettings<Group>) {
      self.settings = settings
      value = settings.current
    }

    /// Follows the group until the task is cancelled or the home is closed. Run it again to go on.
    public func run() async {
      let changes = settings.changes
      value = settings.current
      // What is stored by now: a listener that is behind must not take a control back to what it was.
      for await _ in changes { value = settings.current }
    }

    /// Commits a change, on the main thread. One that is refused leaves the value as it is and is kept in `error`.
    public func commit(_ change: (inout Group) throws -> Void) {
      do {
        value = try settings.commit(change)
        error = nil
      } catch {
        self.error = error
      }
    }
  }
#endif
