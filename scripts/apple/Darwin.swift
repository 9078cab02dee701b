// Stands for the module Darwin: what the system's C library has on Linux as well, and the few calls that only Darwin has.
@_exported import Glibc

public let SOCK_STREAM: Int32 = 1
public let O_EVTONLY: Int32 = 0x8000
public let SO_NOSIGPIPE: Int32 = 0x1022

@discardableResult
public func sysctlbyname(
  _ name: UnsafePointer<CChar>?, _ old: UnsafeMutableRawPointer?, _ oldSize: UnsafeMutablePointer<Int>?,
  _ new: UnsafeMutableRawPointer?, _ newSize: Int
) -> Int32 { -1 }

extension stat {
  public var st_mtimespec: timespec { st_mtim }
}
