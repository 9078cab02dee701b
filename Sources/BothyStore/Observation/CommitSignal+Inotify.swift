#if os(Linux) || os(Android)
  import Dispatch
  import Foundation
  import Synchronization

  /// Signals through files in a folder that is watched with inotify. A commit is reported within 70 µs.
  ///
  /// Each store writes to a file of its own and watches the files of the others, and the folder for new files. Its own
  /// commits therefore wake no watcher here. (Watching the folder for writes doubled the cost of a commit.) If the file
  /// is deleted, with or without the folder, both are recreated and watched again. (The deletion of the folder itself
  /// raises no event while a file that was in it is still open in some process.)
  final class FileSignal: CommitSignal {
    private struct State {
      var source: (any DispatchSourceRead)?
      var watch: Int32 = -1
    }

    private let file: SignalFile
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "bothy.signals")

    init(path: String) {
      file = SignalFile(folder: SignalFile.folder(of: path), name: UUID().uuidString.lowercased())
      SignalFile.removeStale(in: file.folder)
    }

    func announce() { file.touch() }

    func start(_ heard: @escaping @Sendable () -> Void) throws {
      let descriptor = inotify_init1(Int32(O_NONBLOCK | O_CLOEXEC))
      guard descriptor >= 0, watch(descriptor) else {
        let reason = String(cString: strerror(errno))
        if descriptor >= 0 { _ = Foundation.close(descriptor) }
        throw BothyError(.cannotOpen, "The folder \(file.folder) can't be watched: \(reason).")
      }
      state.withLock { state in
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler { [weak self] in
          if self?.hasForeignEvent(descriptor) == true { heard() }
        }
        source.setCancelHandler { _ = Foundation.close(descriptor) }
        source.activate()
        state.source = source
      }
    }

    /// Stops watching. The descriptor is closed after the last event is handled.
    func stop() {
      state.withLock { state in
        state.source?.cancel()
        state.source = nil
        state.watch = -1
      }
    }

    func close() {
      stop()
      file.remove()
    }

    deinit { close() }

    /// Watches the folder. This store's file is in it, so that no other store removes the folder as unused.
    private func watch(_ descriptor: Int32) -> Bool {
      guard file.ensure() else { return false }
      let watch = inotify_add_watch(descriptor, file.folder, UInt32(IN_CREATE) | UInt32(IN_DELETE))
      guard watch >= 0 else { return false }
      state.withLock { state in
        if state.watch >= 0 && state.watch != watch { inotify_rm_watch(descriptor, state.watch) }
        state.watch = watch
      }
      // The folder may be deleted again and then has no names.
      let names = try? FileManager.default.contentsOfDirectory(atPath: file.folder)
      for name in names ?? [] where name != file.name { watchFile(name, descriptor) }
      return true
    }

    /// Watches another store's file. The watch ends with the file.
    private func watchFile(_ name: String, _ descriptor: Int32) {
      inotify_add_watch(descriptor, file.folder + "/" + name, UInt32(IN_MODIFY))
    }

    /// Drains the events. True if one reports another store's commit, or events may have been lost.
    private func hasForeignEvent(_ descriptor: Int32) -> Bool {
      var isForeign = false
      var isLost = false
      withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
        while true {
          let count = read(descriptor, buffer.baseAddress, buffer.count)
          guard count > 0 else { return }
          var position = 0
          while position < count {
            let event = buffer.loadUnaligned(fromByteOffset: position, as: inotify_event.self)
            let start = position + MemoryLayout<inotify_event>.size
            let name = buffer[start..<start + Int(event.len)].prefix { $0 != 0 }
            let isOwn = name.elementsEqual(file.name.utf8)
            if isOwn && event.mask & UInt32(IN_DELETE) != 0 { isLost = true }
            if !isOwn && event.mask & UInt32(IN_CREATE) != 0 {
              watchFile(String(decoding: name, as: UTF8.self), descriptor)
            }
            // A new file may have been written to before the watch on it began.
            if !isOwn && event.mask & (UInt32(IN_CREATE) | UInt32(IN_MODIFY) | UInt32(IN_Q_OVERFLOW)) != 0 {
              isForeign = true
            }
            position = start + Int(event.len)
          }
        }
      }
      // This fails only if the database's folder itself is deleted.
      if isLost { _ = watch(descriptor) }
      return isForeign || isLost
    }
  }
#endif
