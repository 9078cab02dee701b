#if canImport(SwiftUI)
  public import BothySync
  public import SwiftUI

  /// The sync status of the environment's store for a view.
  ///
  /// ```swift
  /// struct PendingBar: View {
  ///   @LiveStatus private var status
  ///
  ///   var body: some View {
  ///     Text(status.pendingCount == 0 ? "Everything is on the server." : "\(status.pendingCount) changes wait.")
  ///   }
  /// }
  /// ```
  @MainActor @propertyWrapper
  public struct LiveStatus: DynamicProperty {
    @Environment(\.bothyStore) private var store
    @State private var model = StatusModel()

    /// Shows the status of the environment's store.
    public init() {}

    /// The status as the view shows it. Stopped without a store in the environment, and until the first status is
    /// read.
    public var wrappedValue: SyncStatus { model.value }

    /// Begins the observation, or continues it. SwiftUI calls it before it reads the view's body.
    public nonisolated func update() {
      MainActor.assumeIsolated { if let store { model.show(store) } }
    }
  }
#endif
