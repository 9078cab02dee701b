/// The choices that a store makes for all its calls, beside where they read and write.
extension SyncOptions {
  /// The treatment of a change that the server rejects permanently. It never applies to throttling, or to a
  /// missing network or token.
  ///
  /// ```swift
  /// var options = SyncOptions()
  /// options.rejectionPolicy = .discardAndRefetch
  /// ```
  public enum RejectionPolicy: Sendable, Hashable {
    /// The change stays pending and is tried again at growing intervals. It is listed as rejected. The default.
    ///
    /// Readers here see it until `Outbox.resolve(_:_:)` decides otherwise.
    case keepPending
    /// After `after` rejections the change isn't sent again, until the app decides with `Outbox.resolve(_:_:)`.
    ///
    /// With 1 or less the first rejection is enough. A new change of the record is sent again, and counts from
    /// 0.
    case quarantine(after: Int)
    /// The change is undone, and the record takes the server's version. The journal has the content, to restore
    /// it.
    case discardAndRefetch
  }
}

extension SyncOptions {
  /// The choice between a local copy and none.
  package enum CacheMode: String, Sendable, Hashable, CaseIterable {
    /// Records are stored in the file, and policies choose when reads use it. The default.
    case enabled
    /// Every read and every write uses the server, and nothing is stored on the device.
    case disabled
  }
}

extension SyncOptions {
  /// The treatment of a save that the local store cannot take, such as on a full disk or in a locked file.
  package enum LocalFailurePolicy: String, Sendable, Hashable, CaseIterable {
    /// The save throws. The default.
    case throwError
    /// The save is tried on the server. The receipt states that it isn't stored on the device. If the server rejects it or
    /// has other changes of the same fields, that is thrown. If the server decides nothing, the store's failure is.
    ///
    /// Of several records each is tried for itself, one after the other. A transaction of the app isn't tried.
    case tryRemote
  }
}

extension SyncOptions {
  /// The answer of a read that doesn't use the server, if its condition has fields that only the server knows.
  package enum UnevaluablePolicy: String, Sendable, Hashable, CaseIterable {
    /// The read throws `BothyError` `notLocallyEvaluable`. The default.
    case throwError
    /// The answer is empty, from the cache and not complete.
    case empty
  }
}

extension SyncOptions {
  /// The behavior of a sync that is requested while another runs.
  package enum IfRunning: String, Sendable, Hashable, CaseIterable {
    /// Waits for that sync, or for its turn, and reports the results. The default.
    case join
    /// Returns at once, with `.alreadyRunning` in the report.
    case ignore
  }
}
