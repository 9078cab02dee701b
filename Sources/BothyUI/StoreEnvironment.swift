#if canImport(SwiftUI)
  import BothyHTTP
  public import BothySync
  public import SwiftUI

  private struct StoreKey: EnvironmentKey {
    static let defaultValue: SyncedStore? = nil
  }

  extension EnvironmentValues {
    /// The store of the environment, or `nil` where no view above has set one.
    var bothyStore: SyncedStore? {
      get { self[StoreKey.self] }
      set { self[StoreKey.self] = newValue }
    }

    /// The store that `@Live` reads: `@Environment(\.store) private var store`. Set it with `store(_:syncs:)`.
    ///
    /// Reading it in a view without a store is a mistake of the program, and ends it. `@Live` and `@LiveStatus` don't.
    public var store: SyncedStore {
      guard let bothyStore else { preconditionFailure("\(MissingStore())") }
      return bothyStore
    }
  }

  extension View {
    /// Sets the store of this view and those below it, and syncs it while the view is shown.
    ///
    /// ```swift
    /// WindowGroup { TodosView().store(store) }
    /// #Preview { TodosView().store(preview, syncs: false) }
    /// ```
    ///
    /// The sync runs after saves, on the server's notifications, when the network returns, and when the app comes to the
    /// foreground. It rests in the background.
    ///
    /// - Parameter syncs: False for a preview, or where the app calls `SyncedStore.run(reachability:)` itself.
    public func store(_ store: SyncedStore, syncs: Bool = true) -> some View {
      environment(\.bothyStore, store).modifier(Syncing(store: syncs ? store : nil))
    }
  }

  /// Runs a store's sync while a view is shown.
  private struct Syncing: ViewModifier {
    @Environment(\.scenePhase) private var phase
    let store: SyncedStore?

    func body(content: Content) -> some View {
      content
        .task(id: store.map(ObjectIdentifier.init)) {
          await store?.run(reachability: PathMonitor())
        }
        .onChange(of: phase, initial: true) {
          store?.options.isForeground = phase != .background
        }
    }
  }
#endif
