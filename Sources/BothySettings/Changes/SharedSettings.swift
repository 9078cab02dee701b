/// One group of settings in one home, for everybody in the app who reads, changes or follows it.
///
/// ```swift
/// let locale = SharedSettings<LocaleSettings>(in: home)
/// let language = locale.current.languageLocale
/// try locale.commit { $0.timeFormat = "24" }
/// for await change in locale.changes where change.changed(\.timeFormat) { … }
/// ```
///
/// May be used from any thread. Keep it as long as changes are to be followed.
public final class SharedSettings<Group: SettingsGroup>: Sendable {
  /// Where the group is stored.
  public let home: SettingsHome
  @usableFromInline let core: SettingsCore<Group>
  /// Whether these are the settings whose end is that of their streams.
  private let isOwner: Bool

  /// Reads nothing yet.
  public init(in home: SettingsHome) {
    self.home = home
    core = SettingsCore(home)
    isOwner = true
  }

  /// For the hooks of a commit.
  init(lending core: SettingsCore<Group>) {
    home = core.home
    self.core = core
    isOwner = false
  }

  deinit {
    if isOwner { core.stop() }
  }

  /// The group as it was last stored, by whatever process. A value: it does not change under the reader.
  ///
  /// The first read opens the home, stores the defaults if there is nothing, and runs the steps that are due: one or two
  /// transactions on the calling thread. Each later one is a lock and a copy, without I/O; changes of other processes
  /// arrive by themselves. While the home can't be used it is the defaults, or what was read last; `problem` says why, and
  /// `load` and each commit try again, reads don't.
  @inlinable public var current: Group { core.current }

  /// Why the home can't be used, nil when it can: `StoreError` for the file, `SettingsError` for the container or the
  /// group. Reads the group if nobody has.
  public var problem: (any Error)? { core.problem }

  /// Reads the group again, on the calling thread, in one or two transactions as the first read of `current`; throws
  /// what stands in the way.
  @discardableResult
  public func load() throws -> Group { try core.load() }

  /// Changes the group, in one transaction: `change` gets what is stored at this moment, `preCommit` may refuse what it
  /// made of it, then it is written. Once it is durable `postCommit` runs, then listeners are told. Returns what is
  /// stored now.
  ///
  /// Blocks the calling thread while other writes finish, those of other processes too. If `change` leaves the group as
  /// it was nothing is written, no hook runs and nobody is told.
  ///
  /// Throws what `change` and `preCommit` throw, `StoreError`, and `SettingsError`: `.nestedCommit` inside the closure of
  /// another write of this home, `.newerSchema` when a newer app wrote the group, `.postCommitFailed` when the change is
  /// stored and what follows it failed.
  @discardableResult
  public func commit(_ change: (inout Group) throws -> Void) throws -> Group {
    try core.commit(change)
  }

  /// Runs both hooks and tells the listeners in this process, as a commit does, with nothing changed or written.
  public func touch() throws { _ = try core.commit(isTouch: true) { _ in } }

  /// The changes from now on, in the order in which they were stored, one for each commit of this process. Those of other
  /// processes follow within a second, mostly within a few milliseconds, and may come as one.
  ///
  /// Ends when the home is closed or the last reference to these settings goes. A listener that is slow is given
  /// everything later.
  public var changes: AsyncStream<SettingsChange<Group>> { core.changes() }
}
