#if canImport(Darwin)
  import Dispatch
  import Foundation
  import Synchronization

  /// Signals through one file that all stores on a database share, watched with kqueue.
  ///
  /// A store receives its own signals too. The read that follows then finds the value unchanged.
  final class FileSignal: CommitSignal {
    private let folder: String
    private let file: SignalFile
    private let source = Mutex<(any DispatchSourceFileSystemObject)?>(nil)
    private let queue = DispatchQueue(label: "bothy.signals")

    init(path: String) {
      folder = SignalFile.folder(of: path)
      file = SignalFile(folder: folder, name: "commits", isShared: true)
    }

    func announce() { file.touch() }

    func start(_ heard: @escaping @Sendable () -> Void) throws {
      guard file.ensure() else { throw failure() }
      let descriptor = open(folder + "/" + file.name, O_EVTONLY | O_CLOEXEC)
      guard descriptor >= 0 else { throw failure() }
      source.withLock { source in
        let events = DispatchSource.makeFileSystemObjectSource(
          fileDescriptor: descriptor, eventMask: [.write, .delete, .rename], queue: queue)
        events.setEventHandler { [weak self] in
          let isLost =
            self?.source.withLock { !($0?.data ?? []).isDisjoint(with: [.delete, .rename]) } ?? false
          if isLost { self?.restart(heard) }
          heard()
        }
        events.setCancelHandler { _ = Foundation.close(descriptor) }
        events.activate()
        source = events
      }
    }

    private func restart(_ heard: @escaping @Sendable () -> Void) {
      stop()
      try? start(heard)  // The folder is deleted for good, and no store can signal in it.
    }

    func stop() {
      source.withLock { source in
        source?.cancel()
        source = nil
      }
    }

    func close() {
      stop()
      file.remove()
    }

    deinit { close() }

    private func failure() -> BothyError {
      BothyError(.cannotOpen, "The folder \(folder) can't be watched: \(String(cString: strerror(errno))).")
    }
  }
#endif
