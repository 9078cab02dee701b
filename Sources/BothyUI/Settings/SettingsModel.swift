public import BothySettings
public import Observation

/// A group for a view: its current value, kept up to date while `run` runs.
///
/// ```swift
/// @MainActor final class ClockModel {
///   let locale = SettingsModel(SharedSettings<LocaleSettings>(in: home))
///
///   var isTwelveHours: Bool { locale.value.timeFormat == "12" }
///
///   /// Returns when its task is cancelled.
///   func run() async { await locale.run() }
/// }
/// ```
@MainActor @Observable
public final class SettingsModel<Group: SettingsGroup> {
  /// The group as the view shows it. It is read when the model is created, and again by `run` and `update`.
  public private(set) var value: Group
  /// The reason why the last change through the model was rejected, or nil if it was accepted. Show it beside the
  /// control.
  public private(set) var error: (any Error)?
  @ObservationIgnored private let settings: SharedSettings<Group>
  @ObservationIgnored private var task: Task<Void, Never>?

  /// Reads the group. This is I/O if the process has not read the group yet.
  ///
  /// If the home can't be used, the value is the defaults, and `SharedSettings.problem` has the reason.
  public init(_ settings: SharedSettings<Group>) {
    self.settings = settings
    value = settings.current
  }

  deinit { task?.cancel() }

  /// Observes the group in a task of the model's own. Does nothing if it does so already.
  package func show() {
    guard task == nil else { return }
    let (settings, changes) = (settings, settings.changes)
    // The group may have changed since the model was created.
    value = settings.current
    task = Task { [weak self] in
      for await _ in changes {
        guard let self else { return }
        value = settings.current
      }
      // The container was closed. The next call observes it again.
      self?.task = nil
    }
  }

  /// Observes the group until the task is cancelled or the container is closed. Run it again to continue.
  public func run() async {
    let changes = settings.changes
    value = settings.current
    // Reads the stored value, not the change: a slow listener must not return a control to an older value.
    for await _ in changes { value = settings.current }
  }

  /// Commits a change on the main thread. If it is rejected, the value stays as it is and `error` has the reason.
  ///
  /// Blocks while other writes of the container finish. If `didUpdate` threw, the change is stored and `error` is set
  /// too.
  public func update(_ change: (inout Group) throws -> Void) {
    do {
      value = try settings.update(change)
      error = nil
    } catch {
      self.error = error
    }
  }
}
