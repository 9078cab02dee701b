/// One group of settings in one home, for all code of the app that reads, changes or observes it.
///
/// ```swift
/// let locale = SharedSettings<LocaleSettings>(in: home)
/// let language = locale.current.languageLocale
/// try locale.update { $0.timeFormat = "24" }
/// for await change in locale.changes where change.changed(\.timeFormat) { show(change.new.timeFormat) }
/// ```
///
/// May be used from any thread. Keep a reference to it while you observe changes.
public final class SharedSettings<Group: SettingsGroup>: Sendable {
  /// The home that stores the group. Other groups may be in the same one.
  public let home: SettingsContainer
  @usableFromInline let core: SettingsCore<Group>
  /// True if the streams of changes end when this object is deallocated.
  private let isOwner: Bool

  /// Creates the settings without reading them.
  ///
  /// One object for each group is enough. Further ones in the same home see the same values, and read the home once
  /// each.
  public init(in home: SettingsContainer) {
    self.home = home
    core = SettingsCore(home)
    isOwner = true
  }

  /// Creates the settings for the hooks of a commit.
  init(lending core: SettingsCore<Group>) {
    home = core.home
    self.core = core
    isOwner = false
  }

  deinit {
    if isOwner { core.stop() }
  }

  /// The group as it was last stored, by any process. It is a value and does not change while it is in use.
  ///
  /// The first read opens the home, stores the defaults if the home is empty, and runs the steps that are due. That
  /// takes one or two transactions on the calling thread. Each later read is a lock and a copy, without I/O. Changes of
  /// other processes arrive by themselves.
  ///
  /// While the home can't be used, this is the last value that was read, or the defaults. `problem` then has the
  /// reason. `load` and each commit try again; reads don't.
  @inlinable public var current: Group { core.current }

  /// The reason why the home can't be used, or nil if it can.
  ///
  /// Usually a `BothyError` about the file, the container or the group. Reads the group if that hasn't happened yet. A
  /// later `load` or commit that succeeds makes it nil.
  public var problem: (any Error)? { core.problem }

  /// Reads the group again on the calling thread, in one or two transactions like the first read of `current`.
  ///
  /// - Throws: `BothyError`, such as `.newerSchema` if a newer version of the app wrote the group, `.migrationFailed`
  ///   for a step, or `.noContainer`. The stored group is then unchanged, and `current` keeps its value.
  @discardableResult
  public func load() throws -> Group { try core.load() }

  /// Changes the group in one transaction, and returns the group as it is now stored.
  ///
  /// `change` receives the stored value, and `willUpdate` may adjust or reject its result. Then the result is written.
  /// Once it is durable, `didUpdate` runs, and then listeners are notified.
  ///
  /// Blocks the calling thread while other writes finish, those of other processes too. If `change` leaves the group as
  /// it was, nothing is written, no hook runs and no listener is notified.
  ///
  /// Throws the errors of `change` and `willUpdate`, and `BothyError`, such as:
  ///
  /// - `Code("nestedUpdate")` inside the closure of another write of this home,
  /// - `.newerSchema` if a newer version of the app wrote the group,
  /// - `.didUpdateFailed` if the change is stored and `didUpdate` threw.
  @discardableResult
  public func update(_ change: (inout Group) throws -> Void) throws -> Group {
    try core.update(change)
  }

  /// Runs both hooks and notifies the listeners in this process, like a commit, but changes nothing.
  ///
  /// Writes nothing unless `willUpdate` adjusts the group. Takes one transaction and throws like `update`.
  public func republish() throws { _ = try core.update(isTouch: true) { _ in } }

  /// The changes from now on, in the order in which they were stored, one for each commit of this process.
  ///
  /// Changes of other processes follow within a second, mostly within a few milliseconds, and may arrive as one. The
  /// stream ends when the home is closed or the last reference to these settings is released. A new stream opens a closed
  /// home again. A slow listener receives all changes later.
  public var changes: AsyncStream<SettingsChange<Group>> { core.changes() }
}
