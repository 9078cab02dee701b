/// One sync of the past as the file remembers it, or several in a row that moved nothing and ended alike.
public struct SyncRun: Sendable, Hashable, Identifiable {
  /// Its place in the order in which syncs of this file were noted: rises.
  public var id: Int64
  /// When it began, the first of them where it stands for several; in milliseconds since 1970, by the device's clock.
  public var began: Int64
  /// When it ended, the last of them where it stands for several.
  public var ended: Int64
  /// The process that ran it, the last one where it stands for several.
  public var process: Int32
  /// Operations that the server acknowledged.
  public var pushed: Int
  /// Changes of others that were applied here.
  public var pulled: Int
  /// Blobs that the server has since.
  public var uploadedBlobs: Int
  /// Changes that the server refused or that could not be merged; `inbox` says which and why.
  public var refused: Int
  /// Round trips, those for blobs included; of the last where it stands for several.
  public var requests: Int
  /// Why it did not run, or not to its end; nil when it did. Its text is cut short and freed of what opens doors.
  public var problem: SkipReason?
  /// How many syncs in a row it stands for. Those within a minute of one that was counted are added by what their
  /// process notes next, and not at all when it ends before.
  public var count: Int

  /// What syncs leave in the file, and tests and previews of screens make for themselves.
  public init(
    id: Int64 = 0, began: Int64, ended: Int64, process: Int32 = 0, pushed: Int = 0, pulled: Int = 0,
    uploadedBlobs: Int = 0, refused: Int = 0, requests: Int = 0, problem: SkipReason? = nil, count: Int = 1
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
      problem: report.skipped)
  }

  /// Whether it brought anything from here to there or back.
  var movedSomething: Bool { pushed + pulled + uploadedBlobs > 0 }

  /// Whether it ended in the same way as another one, both having moved nothing.
  func repeats(_ other: SyncRun) -> Bool {
    !movedSomething && !other.movedSomething && refused == other.refused
      && problem?.name == other.problem?.name
  }
}
