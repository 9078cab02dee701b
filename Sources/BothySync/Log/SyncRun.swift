extension StoreMaintenance {
  /// One past sync in the file, or several in a row that changed nothing and ended alike.
  public struct SyncRun: Sendable, Hashable, Identifiable {
    /// The sync's place in the order in which syncs of this file were noted. It rises.
    public var id: Int64
    /// The begin of the sync, or of the first of several, in milliseconds since 1970 by the device's clock.
    public var began: Int64
    /// The end of the sync, or of the last of several.
    public var ended: Int64
    /// The process that ran the sync, or the last of several.
    package var process: Int32
    /// The number of operations that the server acknowledged.
    public var pushed: Int
    /// The number of changes of others that were applied here.
    public var pulled: Int
    /// The number of blobs that the server has since.
    package var uploadedBlobs: Int
    /// The number of changes that the server rejected or that could not be merged. `inbox` has them and the reasons.
    package var refused: Int
    /// The number of round trips, those for blobs included; of the last sync if there are several.
    package var requests: Int
    /// The reason why the sync did not run, or not to its end; `nil` if it did. Its text is shortened and has no
    /// credentials.
    package var problem: SyncStop?
    /// The number of syncs in a row that this one counts. Those within a minute of a counted one are added with the next
    /// note of their process, and not at all if the process ends before.
    public var count: Int

    /// The reason why the sync did not run, or not to its end; `nil` if it did.
    public var obstacle: SyncObstacle? { problem?.obstacle }
    /// The obstacle as a sentence for people, without credentials; `nil` if the sync ran to its end.
    public var message: String? { problem?.sentence }

    /// Makes a past sync, for the log, tests and previews.
    package init(
      id: Int64 = 0, began: Int64, ended: Int64, process: Int32 = 0, pushed: Int = 0, pulled: Int = 0,
      uploadedBlobs: Int = 0, refused: Int = 0, requests: Int = 0, problem: SyncStop? = nil, count: Int = 1
    ) {
      self.id = id
      self.began = began
      self.ended = ended
      self.process = process
      self.pushed = pushed
      self.pulled = pulled
      self.uploadedBlobs = uploadedBlobs
      self.refused = refused
      self.requests = requests
      self.problem = problem
      self.count = count
    }

    init(_ report: SyncReport, began: Int64, ended: Int64, process: Int32) {
      self.init(
        began: began, ended: ended, process: process, pushed: report.pushed, pulled: report.pulled,
        uploadedBlobs: report.uploadedBlobs, refused: report.failures.count, requests: report.requests,
        problem: report.stop)
    }

    /// True if the sync sent or received anything.
    var movedSomething: Bool { pushed + pulled + uploadedBlobs > 0 }

    /// Returns true if it ended like another one and both changed nothing.
    func repeats(_ other: StoreMaintenance.SyncRun) -> Bool {
      !movedSomething && !other.movedSomething && refused == other.refused
        && problem?.name == other.problem?.name
    }
  }
}
